/**
 * Starts a server, stands before it, and changes one thing in one class of exchanges: `node proxy.ts PLAN [SOCKET CONTROL
 * DIR]`. A process in the group of the server, so that a signal ends both, as it ends a server that stands alone.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { DeviceProxy } from './device.ts';
import { type Answer, ask, type Exchange, endToEnd, type Upstream, whole, withHeader } from './forward.ts';
import { Frames } from './frames.ts';
import { KINDS, type Kind, type Perturbation } from './perturbation.ts';
import { type Keys, PlatformProxy } from './platform.ts';

/** What the proxy is given, as the JSON of a file. */
export interface Plan {
  perturbation: Perturbation;
  /** A shell line, but for the sockets and the folder of a device; it prints a line of JSON once it serves. */
  server: string;
  /** For the sockets of a device. */
  folder: string;
  keys: Keys;
  /** Gets a `v` for each exchange of the class, and an `a` for each that was changed. */
  trace: string;
}

const SLOWER_MS = 15;
const PIECE_BYTES = 7;
const MOST_TRACED = 200;

/** What is done to the bytes of an answer; nothing to those of control. */
type Manner = { kind: Kind | undefined };

/** Headers as a kind has them. */
function headersFor({ kind }: Manner, headers: readonly string[]): string[] {
  if (kind === 'header-case') return headers.map((each, n) => (n % 2 === 0 ? each.toUpperCase() : each));
  if (kind === 'header-added') return [...headers, 'X-Note', 'one, two'];
  if (kind === 'header-order')
    return headers.flatMap((_, n) => (n % 2 === 0 ? headers.slice(headers.length - 2 - n, headers.length - n) : []));
  return [...headers];
}

/** Sends bytes as a kind has them. */
function write({ kind }: Manner, response: http.ServerResponse, bytes: Buffer): void {
  if (kind !== 'split') response.write(bytes);
  else
    for (let from = 0; from < bytes.length; from += PIECE_BYTES)
      response.write(bytes.subarray(from, from + PIECE_BYTES));
}

function send(it: Manner, response: http.ServerResponse, { status, reason, headers, body, length }: Answer): void {
  const hasLength = it.kind !== 'split' && status !== 204 && status !== 304;
  const own = [
    ...headersFor(it, headers),
    // An answer to HEAD has the length of another one.
    ...(hasLength ? ['Content-Length', body.length === 0 ? (length ?? '0') : String(body.length)] : []),
    ...(it.kind === 'closed' ? ['Connection', 'close'] : []),
  ];
  response.writeHead(status, reason, own);
  if (body.length > 0) write(it, response, body);
  response.end();
}

class Gate {
  readonly #it: Perturbation;
  readonly #platform: PlatformProxy | undefined;
  readonly #device: DeviceProxy | undefined;
  readonly #trace: (letter: 'v' | 'a') => void;
  readonly #used = new WeakSet<Socket>();

  constructor({ perturbation, keys, trace }: Plan, upstream: Upstream) {
    let traced = 0;
    const restarted = existsSync(trace);
    if (!restarted) writeFileSync(trace, '');
    this.#trace = (letter) => {
      traced += 1;
      if (traced <= MOST_TRACED) appendFileSync(trace, letter);
    };
    this.#it = perturbation;
    if (perturbation.api === 'platform') this.#platform = new PlatformProxy(perturbation, upstream, keys, this.#trace);
    else this.#device = new DeviceProxy(perturbation, upstream, restarted, this.#trace);
  }

  readonly serve = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const over = new AbortController();
    response.once('close', () => over.abort());
    try {
      const exchange = await this.#read(request);
      const answer = await (this.#platform ?? this.#device)?.answer(exchange, over.signal);
      if (this.#it.kind === 'slower') await new Promise((resolve) => setTimeout(resolve, SLOWER_MS));
      if (answer === undefined) return;
      if (KINDS[this.#it.kind].of === 'bytes') this.#trace('a');
      if ('stream' in answer) this.#pipe(answer, response);
      else send(this.#it, response, answer);
    } catch {
      // As the server did: it broke off, or is not there.
      response.destroy();
    }
  };

  async #read(request: http.IncomingMessage): Promise<Exchange> {
    const { method = '', url = '', rawHeaders, socket } = request;
    const connection = this.#used.has(socket) ? 'kept' : 'new';
    this.#used.add(socket);
    return { method, url, headers: endToEnd(rawHeaders), body: Buffer.concat(await request.toArray()), connection };
  }

  #pipe(
    { stream, isIn, media }: { stream: http.IncomingMessage; isIn: boolean; media?: string },
    response: http.ServerResponse,
  ): void {
    const headers = endToEnd(stream.rawHeaders);
    const own = media === undefined ? headers : withHeader(headers, 'content-type', media);
    response.writeHead(200, stream.statusMessage, headersFor(this.#it, own));
    response.flushHeaders();
    const applied = (): void => this.#trace('a');
    const visited = (): void => this.#trace('v');
    const frames = new Frames(this.#it, {
      send: (text) => write(this.#it, response, Buffer.from(text)),
      applied,
      visited,
    });
    const changes = isIn && ['frame', 'stream', 'json', 'member'].includes(KINDS[this.#it.kind].of);
    stream.setEncoding('utf8');
    const take = (text: string): void => {
      this.#device?.saw(text);
      if (changes) frames.take(text);
      else write(this.#it, response, Buffer.from(text));
      if (response.writableNeedDrain) stream.pause();
    };
    const wait = this.#it.kind === 'slower' ? SLOWER_MS : undefined;
    stream.on('data', (text: string) => {
      if (wait === undefined) return take(text);
      stream.pause();
      setTimeout(() => {
        stream.resume();
        take(text);
      }, wait);
    });
    response.on('drain', () => stream.resume());
    stream.once('end', () => {
      frames.end();
      response.end();
    });
    stream.on('error', () => response.destroy());
    stream.once('close', () => {
      if (!stream.readableEnded) response.destroy();
    });
    response.once('close', () => stream.destroy());
  }

  /** Passes a call on; resolves with the answer. */
  async control(request: http.IncomingMessage, upstream: Upstream): Promise<Answer> {
    const exchange = await this.#read(request);
    await this.#device?.beforeControl(exchange);
    const answer = await whole(await ask(upstream, exchange));
    if (exchange.url === '/stop' && this.#device !== undefined) this.#device.restarted = true;
    return answer;
  }
}

/** Starts the server; resolves with its line of JSON. When it ends, this process does. */
async function started(line: string): Promise<Record<string, unknown>> {
  const child = spawn('/bin/sh', ['-c', `exec ${line}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.once('exit', (code) => process.exit(code ?? 1));
  const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>();
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    const ready = /^\{.*"ready".*\}$/m.exec(text);
    if (ready !== null) resolve(JSON.parse(ready[0]) as Record<string, unknown>);
  });
  return promise;
}

/** A server that can leave its place, and come back to it. */
class Place {
  readonly #serve: http.RequestListener;
  readonly #at: string | { host: string; port: number };
  #server: http.Server | undefined;

  constructor(at: string | { host: string; port: number }, serve: http.RequestListener) {
    this.#at = at;
    this.#serve = serve;
  }

  async open(): Promise<number> {
    if (this.#server !== undefined) return 0;
    // A connection is the client's to close: a server that closes idle ones races with its requests.
    this.#server = http.createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, this.#serve);
    if (typeof this.#at === 'string') rmSync(this.#at, { force: true });
    await new Promise<void>((resolve) => this.#server?.listen(this.#at, resolve));
    const address = this.#server.address();
    return typeof address === 'string' ? 0 : (address as AddressInfo).port;
  }

  close(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
    this.#server = undefined;
  }
}

async function beforePlatform(plan: Plan): Promise<void> {
  const { url: at } = await started(plan.server);
  const url = new URL(String(at));
  const proxy = new Gate(plan, { host: url.hostname, port: Number(url.port) });
  url.port = String(await new Place({ host: '127.0.0.1', port: 0 }, proxy.serve).open());
  process.stdout.write(`${JSON.stringify({ ready: true, url: String(url) })}\n`);
}

async function beforeDevice(plan: Plan, [own = '', ownControl = '', dir = '']: readonly string[]): Promise<void> {
  const [socketPath, controlPath] = [join(plan.folder, 's.sock'), join(plan.folder, 'c.sock')];
  await started(`${plan.server} --socket '${socketPath}' --control '${controlPath}' --dir '${dir}'`);
  const proxy = new Gate(plan, { socketPath });
  const place = new Place(own, proxy.serve);
  const control = new Place(ownControl, async (request, response) => {
    const answer = await proxy.control(request, { socketPath: controlPath }).catch(() => undefined);
    if (answer === undefined) {
      response.destroy();
      return;
    }
    // Whoever is answered finds the agent as the answer says.
    if (request.url === '/stop' && answer.status < 300) place.close();
    if (request.url === '/start' && answer.status < 300) await place.open();
    send({ kind: undefined }, response, answer);
  });
  await control.open();
  await place.open();
  process.stdout.write(`${JSON.stringify({ ready: true, socket: own })}\n`);
}

const [file = '', ...places] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(file, 'utf8')) as Plan;
await (plan.perturbation.api === 'device' ? beforeDevice(plan, places) : beforePlatform(plan));
