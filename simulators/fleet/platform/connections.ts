/** Pool of connections to one platform; opens spare connections early, so that requests do not wait. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { type BodyRule, clipped, type Head, joined, MessageParser } from '../../../harness/common/http-parser.ts';
import { http } from '../../../harness/common/node-http.ts';
import { type AnswerHandler, type Sender, type SenderRequest, undici } from '../../common/platform-http.ts';

interface ConnectionsOptions {
  origin: string;
  most: number;
  timeoutMs: number;
  onOpened?(ms: number): void;
  onCrowded?(): void;
}

interface Waiting {
  bytes: string | Buffer;
  handler: AnswerHandler;
}

/** Maximum connections that a burst opens; opening thousands would delay its requests. */
const TOGETHER = 256;
const CLOSED = 'the connections were closed';

export class Connections implements Sender {
  readonly #options: ConnectionsOptions;
  readonly #host: string;
  readonly #connect: ReturnType<typeof buildConnector>;
  readonly #open = new Set<RequestConnection>();
  /** Stack, not a queue, so that surplus connections stay unused and time out. */
  readonly #idle: RequestConnection[] = [];
  readonly #waiting: Waiting[] = [];
  readonly #patient: Waiting[] = [];
  #opening = 0;
  #closed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const { host, protocol } = new URL(options.origin);
    this.#host = host;
    this.#connect = undici().buildConnector({ allowH2: false, ...(protocol === 'http:' && { onread: readTogether }) });
  }

  send(request: SenderRequest, handler: AnswerHandler, patient = false): void {
    let bytes: string | Buffer;
    try {
      if (this.#closed) throw new Error(CLOSED);
      bytes = encodeRequest(this.#host, request);
    } catch (error) {
      handler.onResponseError(undefined, error as Error);
      return;
    }
    let connection = this.#idle.pop();
    while (connection?.usable === false) connection = this.#idle.pop();
    if (connection !== undefined) connection.send(bytes, handler);
    else if (patient) this.#patient.push({ bytes, handler });
    else {
      if (this.#options.most - this.#open.size <= this.#waiting.length) this.#options.onCrowded?.();
      this.#waiting.push({ bytes, handler });
    }
    this.#openAhead();
  }

  async destroy(): Promise<void> {
    this.#closed = true;
    const error = new Error(CLOSED);
    for (const { handler } of [...this.#waiting.splice(0), ...this.#patient.splice(0)])
      handler.onResponseError(undefined, error);
    await Promise.all([...this.#open].map((connection) => connection.destroy(error)));
  }

  #openAhead(): void {
    const { most } = this.#options;
    const together = Math.min(this.#patient.length, Math.max(0, Math.min(TOGETHER, most) - this.#open.size));
    const spare = Math.min(256, 8 + (this.#open.size >> 2));
    const wanted = this.#waiting.length + Math.max(together, spare - this.#idle.length);
    const missing = Math.min(wanted - this.#opening, most - this.#open.size - this.#opening);
    for (let count = 0; count < missing; count += 1) this.#openOne();
  }

  #openOne(): void {
    if (this.#closed) return;
    const { protocol, hostname, host, port } = new URL(this.#options.origin);
    const began = performance.now();
    this.#opening += 1;
    this.#connect({ protocol, hostname: hostname.replace(/^\[|\]$/g, ''), host, port }, (error, socket) => {
      this.#opening -= 1;
      if (error === null) {
        this.#options.onOpened?.(performance.now() - began);
        return this.#use(socket);
      }
      const waiting = this.#waiting.shift() ?? this.#patient.shift();
      if (waiting === undefined) return;
      waiting.handler.onResponseError(undefined, error);
      this.#openAhead();
    });
  }

  #use(socket: Socket): void {
    const connection: RequestConnection = new RequestConnection(socket, {
      timeoutMs: this.#options.timeoutMs,
      onReady: () => this.#release(connection),
      onGone: () => {
        this.#open.delete(connection);
        const at = this.#idle.indexOf(connection);
        if (at >= 0) this.#idle.splice(at, 1);
        if (this.#waiting.length + this.#patient.length > 0) this.#openAhead();
      },
    });
    this.#open.add(connection);
    if (this.#closed) void connection.destroy(new Error(CLOSED));
    else this.#release(connection);
  }

  #release(connection: RequestConnection): void {
    const next = this.#waiting.shift() ?? this.#patient.shift();
    if (next === undefined) this.#idle.push(connection);
    else connection.send(next.bytes, next.handler);
  }
}

/** Encoded headers by headers object, because most requests share one object. */
const fields = new WeakMap<object, string>();

function encodeRequest(host: string, { method, path, headers, body }: SenderRequest): string | Buffer {
  // Rejects spaces, control characters and characters beyond ASCII (RFC 9112 section 3).
  if (/[^\x21-\x7e]/.test(path)) throw new Error(`not a path of a request: ${JSON.stringify(clipped(path))}`);
  let lines = fields.get(headers);
  if (lines === undefined) {
    lines = '';
    for (const [name, value] of Object.entries(headers)) {
      http.validateHeaderName(name);
      http.validateHeaderValue(name, value);
      lines += `${name}: ${value}\r\n`;
    }
    fields.set(headers, lines);
  }
  const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${lines}`;
  if (body === null) return `${head}\r\n`;
  const bytes = Buffer.from(body);
  return Buffer.concat([Buffer.from(`${head}content-length: ${bytes.length}\r\n\r\n`, 'latin1'), bytes]);
}

/** Option `onread` of `net.connect`: connections without TLS share one read buffer, to create less garbage. */
const readTogether = {
  buffer: Buffer.alloc(64 * 1024),
  callback(this: Socket, length: number, buffer: Uint8Array): boolean {
    return this.emit('data', buffer.subarray(0, length));
  },
};

/** Maximum idle milliseconds for a server without a stated timeout; some servers close after 5 s. */
const UNSAID_MS = 4000;

/** HTTP/1.1 connection (RFC 9112) for one request at a time; creates little garbage, whose collection takes time. */
class RequestConnection {
  readonly #socket: Socket;
  readonly #onGone: () => void;
  readonly #parser: MessageParser;
  #handler: AnswerHandler | undefined;
  #interim = false;
  #last = false;
  #usableUntil = Number.POSITIVE_INFINITY;
  #isGone = false;

  constructor(socket: Socket, on: { timeoutMs: number; onReady(): void; onGone(): void }) {
    const { timeoutMs, onReady, onGone } = on;
    this.#socket = socket;
    this.#onGone = onGone;
    this.#parser = new MessageParser({
      head: (head) => this.#begin(head),
      // Copies the bytes, because the next answer overwrites the shared buffer.
      body: (piece) => this.#handler?.onResponseData(this, Buffer.from(piece)),
      end: () => {
        if (this.#interim) return;
        const handler = this.#handler;
        this.#handler = undefined;
        if (this.#last) this.#cut();
        handler?.onResponseEnd();
      },
      wrong: (why) => this.abort(new Error(`the answer is not HTTP/1.1: ${why}`)),
    });
    socket.setTimeout(timeoutMs, () => this.abort(new Error(`no byte of an answer for ${timeoutMs / 1000} s`)));
    socket.on('data', (bytes: Buffer) => {
      if (this.#handler === undefined) this.#cut();
      else this.#parser.push(bytes, 0);
      // Frees the connection only after all bytes are parsed, so that no surplus byte answers the next request.
      if (this.#handler === undefined && !socket.destroyed) onReady();
    });
    socket.on('end', () => {
      this.#parser.end(0);
      this.abort(closed());
    });
    socket.on('error', (error) => this.abort(error));
    socket.once('close', () => this.abort(closed()));
  }

  get usable(): boolean {
    if (performance.now() >= this.#usableUntil) this.#cut();
    return !this.#socket.destroyed;
  }

  send(bytes: string | Buffer, handler: AnswerHandler): void {
    this.#handler = handler;
    handler.onRequestStart(this);
    if (this.#handler === handler) this.#socket.write(bytes, 'latin1');
  }

  async destroy(reason: Error): Promise<void> {
    if (this.#socket.closed) return;
    const end = once(this.#socket, 'close');
    this.abort(reason);
    await end;
  }

  #begin({ line, headers }: Head): BodyRule | undefined {
    const [, minor, code] = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(line) ?? [];
    const status = Number(code);
    if (this.#handler === undefined || code === undefined || status === 101) {
      this.abort(new Error(`the answer is not HTTP/1.1: ${clipped(line)}`));
      return undefined;
    }
    this.#interim = status < 200;
    if (this.#interim) return 'none';
    const named = joined(headers);
    const options = named['connection']?.toLowerCase() ?? '';
    const [, seconds] = /timeout=(\d+)/i.exec(named['keep-alive'] ?? '') ?? [];
    // Stops using a connection one second before the server's idle timeout.
    const usableMs = seconds === undefined ? UNSAID_MS : Number(seconds) * 1000 - 1000;
    this.#usableUntil = performance.now() + usableMs;
    const framed = named['content-length'] !== undefined || named['transfer-encoding'] !== undefined;
    const bodiless = status === 204 || status === 304;
    const stays = minor === '0' ? options.includes('keep-alive') : !options.includes('close');
    this.#last = !stays || usableMs <= 0 || !(framed || bodiless);
    this.#handler.onResponseStart(this, status, named);
    return bodiless ? 'none' : 'rest';
  }

  #cut(): void {
    this.#socket.destroy();
    if (this.#isGone) return;
    this.#isGone = true;
    this.#onGone();
  }

  abort(error: Error): void {
    const handler = this.#handler;
    this.#handler = undefined;
    this.#parser.stop();
    this.#cut();
    handler?.onResponseError(this, error);
  }
}

const closed = (): Error => Object.assign(new Error('other side closed'), { code: 'ECONNRESET' });
