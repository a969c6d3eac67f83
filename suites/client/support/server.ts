/** Server for one client under test; the check scripts its answers byte by byte. */
import { once } from 'node:events';
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Bytes } from '../../../harness/common/bytes.ts';
import { http, targetUrl } from '../../../harness/common/node-http.ts';
import { lateBy } from '../../../harness/common/waiting.ts';
import type { Refusal } from '../../../harness/contract/situations.ts';
import { DEVICE_API_PREFIX } from '../../../harness/contract/versions.ts';

const LOOPBACK = '127.0.0.1';
/** Bytes at the beginning and at the end of a long piece, which a finding shows. */
const SHOWN_FIRST = 100;
const SHOWN_LAST = 60;

/** Maximum bytes of a request's body; every request of the APIs has fewer. */
const MOST_BODY = 1024 * 1024;

export interface Track {
  opens(how: string): void;
  sends(bytes: string): void;
  answers(how: string): void;
  ends(who: 'client' | 'server', how: string): void;
}

export class ClientRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly at = performance.now();
  /** Longest possible delay before this process saw the request. */
  readonly lateMs = lateBy();
  readonly #response: ServerResponse;
  readonly #track: Track | undefined;
  readonly #pieces: Buffer[] = [];
  /** Later request that continues the stream after the client left. */
  #next: ClientRequest | undefined;
  status: number | undefined;
  /** End of the answer, in milliseconds of `performance.now()`. */
  endedAt: number | undefined;
  #closedAt: number | undefined;
  /** State of the answer once it was sent; undefined for a stream. */
  answered: 'whole' | 'cut' | undefined;
  #isStream = false;

  constructor(
    request: IncomingMessage,
    body: string,
    response: ServerResponse,
    track: Track | undefined,
    onClose: () => void,
  ) {
    this.body = body;
    const target = request.url ?? '/';
    const url = targetUrl(target);
    this.method = request.method ?? '';
    this.path = url?.pathname ?? target;
    this.query = url?.searchParams ?? new URLSearchParams();
    this.headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    this.#response = response;
    this.#track = track;
    response.socket?.setNoDelay(true);
    response.on('error', () => {});
    response.once('close', () => {
      this.#closedAt = performance.now();
      if (this.endedAt === undefined) track?.ends('client', 'closes the connection');
      onClose();
    });
  }

  get cursor(): string | undefined {
    const text = this.query.get('after') ?? this.headers['last-event-id'];
    return text === '' ? undefined : text;
  }

  get sent(): string {
    // Maximum bytes of an answer that are recorded, and compared with other answers.
    return Buffer.concat(this.#pieces).toString('utf8', 0, 64 * 1024);
  }

  get closedAt(): number | undefined {
    return this.#next === undefined ? this.#closedAt : this.#next.closedAt;
  }

  get closed(): boolean {
    return this.closedAt !== undefined;
  }

  get isLeft(): boolean {
    return this.#isStream && this.closed && this.endedAt === undefined;
  }

  /** Continues the stream on `next`, with all events after its cursor. */
  goOn(next: ClientRequest): Promise<void> {
    this.#next = next.accept();
    const bytes = Buffer.concat(this.#pieces);
    // latin1 maps each byte to one character, so string offsets are byte offsets.
    const text = bytes.toString('latin1');
    const blocks = [...text.matchAll(/(?<=^|[\r\n])id: ?([^\r\n]*)/g)];
    const block = blocks.findLast(([, id]) => id === next.cursor);
    const end = block && /(\r\n|\n|\r(?!\n))(\r\n|\n|\r)/.exec(text.slice(block.index));
    return next.send(end ? bytes.subarray(block.index + end.index + end[0].length) : bytes);
  }

  accept(): this {
    this.status = 200;
    this.#isStream = true;
    this.#response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    this.#response.flushHeaders();
    this.#track?.opens('200 text/event-stream');
    return this;
  }

  /** Resolves once the system has taken the bytes, or the client is gone. */
  async send(piece: string | Buffer): Promise<void> {
    if (this.#next !== undefined) return this.#next.send(piece);
    const bytes = Buffer.from(piece);
    this.#pieces.push(bytes);
    this.#track?.sends(shown(bytes));
    if (this.closed) return;
    await new Promise<void>((resolve) => {
      this.#response.once('close', resolve);
      this.#response.write(bytes, () => {
        this.#response.off('close', resolve);
        resolve();
      });
    });
  }

  end(): void {
    if (this.#next !== undefined) return void this.#next.end();
    this.endedAt = performance.now();
    this.#track?.ends('server', 'ends the stream');
    this.#response.end();
  }

  cut(): void {
    if (this.#next !== undefined) return void this.#next.cut();
    this.endedAt = performance.now();
    if (!this.#isStream) this.answered = 'cut';
    this.#track?.ends('server', 'cuts the connection');
    this.#response.destroy();
  }

  async tear(status: number, part: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    this.status = status;
    this.#response.writeHead(status, { 'content-type': 'application/json', ...headers });
    this.#track?.opens(`${status}, the beginning of its body`);
    await this.send(part);
    this.cut();
  }

  refuse({ status, body, headers }: Refusal): void {
    this.answer(status, body, headers);
  }

  answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.#write(status, body, headers);
  }

  garble(text: string, headers: Readonly<Record<string, string>> = {}): void {
    this.#write(200, text, headers);
  }

  #write(status: number, body: unknown, headers: Readonly<Record<string, string>>): void {
    this.status = status;
    this.endedAt = performance.now();
    this.answered = 'whole';
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    this.#pieces.push(Buffer.from(text));
    const more = Object.entries(headers).map(([name, value]) => `, ${name}: ${value}`);
    this.#track?.answers(`${status}${more.join('')}${text === '' ? '' : ` with ${shown(Buffer.from(text))}`}`);
    this.#response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  }
}

function shown(bytes: Buffer): string {
  const text = (from: number, to?: number): string => JSON.stringify(bytes.toString('utf8', from, to));
  if (bytes.length <= SHOWN_FIRST + SHOWN_LAST) return text(0);
  return `${text(0, SHOWN_FIRST)} … ${text(bytes.length - SHOWN_LAST)} (${bytes.length} bytes)`;
}

export interface ServerPlace {
  path?: string | undefined;
  host?: string | undefined;
  port?: number | undefined;
}

export interface ServerListener {
  track(what: string): Track | undefined;
  request(asked: ClientRequest): void;
  changed(): void;
}

export class ScriptedServer implements AsyncDisposable {
  readonly #door: Server;
  readonly #sockets = new Set<Socket>();
  #leaving = false;
  readonly place: Readonly<ServerPlace>;

  private constructor(door: Server, at: ServerPlace, protocol: HttpServer) {
    this.#door = door;
    this.place = at.path === undefined ? { ...at, port: (door.address() as AddressInfo).port } : at;
    door.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
      if (!this.#leaving) protocol.emit('connection', socket);
    });
  }

  static async open(at: ServerPlace, on: ServerListener): Promise<ScriptedServer> {
    const door = createServer({ noDelay: true });
    await new Promise<void>((resolve, reject) => {
      door.once('error', reject);
      const { path, host = LOOPBACK, port = 0 } = at;
      // A container's users must connect; the private folder of the socket limits access.
      door.listen(path === undefined ? { host, port } : { path, readableAll: true, writableAll: true }, resolve);
    });
    return new ScriptedServer(door, at, serverFor(on));
  }

  get origin(): string {
    const { path, host = LOOPBACK, port } = this.place;
    return `http://${path === undefined ? `${host}:${port}` : 'localhost'}`;
  }

  get url(): string {
    return `${this.origin}${DEVICE_API_PREFIX}`;
  }

  /** Stops listening but keeps the port, so that the client cannot reach the server of another run. */
  async leave(): Promise<void> {
    this.#leaving = true;
    const kept = this.place.path === undefined ? await this.#ownConnection(this.place) : undefined;
    this.#door.close();
    for (const socket of this.#sockets) if (socket !== kept) socket.destroy();
  }

  /** A connection to itself keeps the port from other processes. */
  async #ownConnection({ host = LOOPBACK, port = 0 }: Readonly<ServerPlace>): Promise<Socket> {
    const own = connect({ host, port }).on('error', () => {});
    await once(own, 'connect');
    for (;;) {
      for (const socket of this.#sockets) if (socket.remotePort === own.localPort) return socket;
      await once(this.#door, 'connection');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#door.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

function serverFor(on: ServerListener): HttpServer {
  const server = http.createServer((request, response) => {
    const cursor = request.headers['last-event-id'];
    const after = cursor === undefined ? '' : ` with Last-Event-ID: ${cursor}`;
    const track = on.track(`${request.method} ${request.url}${after}`);
    const body = new Bytes(MOST_BODY);
    const arrived = (): void =>
      on.request(new ClientRequest(request, body.view().toString('utf8'), response, track, on.changed));
    // Does not wait for the end of a request without a body, which may arrive late.
    if (request.method === 'GET' || request.method === 'HEAD') {
      request.resume();
      arrived();
    } else {
      request.on('data', (piece: Buffer) => {
        if (body.append(piece)) return;
        track?.ends('server', `cuts the connection, since the body has more than ${MOST_BODY} bytes`);
        request.destroy();
      });
      request.once('end', arrived);
    }
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  return server;
}
