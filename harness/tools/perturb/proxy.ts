/**
 * Starts a server, stands before it, and changes one thing in one class of exchanges: `node proxy.ts PLAN`, with
 * socket, control socket and folder of a device. A process in the group of the server, so that a signal ends both.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { DeviceChanges, type Stream } from './device.ts';
import { type Answer, type Exchange, endToEnd, type Trace } from './forward.ts';
import { Frames } from './frames.ts';
import { KINDS, type Kind, type Perturbation } from './perturbation.ts';
import { type Keys, PlatformChanges } from './platform.ts';

/** Settings of the proxy, from a JSON file. */
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

/** Sends a stream on, as the kind changes it. */
function pipe(
  it: Perturbation,
  { stream, isIn, headers }: Stream,
  response: http.ServerResponse,
  device: DeviceChanges,
  trace: Trace,
): void {
  response.writeHead(200, stream.statusMessage, headersFor(it, headers));
  response.flushHeaders();
  const sendOn = (text: string): void => write(it, response, Buffer.from(text));
  const frames = isIn ? new Frames(it, sendOn, trace) : undefined;
  const take = (text: string): void => {
    device.saw(text);
    if (frames === undefined) sendOn(text);
    else frames.take(text);
    if (response.writableNeedDrain) stream.pause();
  };
  stream.setEncoding('utf8').on('data', (text: string) => {
    if (it.kind !== 'slower') return take(text);
    stream.pause();
    setTimeout(() => {
      stream.resume();
      take(text);
    }, SLOWER_MS);
  });
  response.on('drain', () => stream.resume());
  stream.once('end', () => {
    frames?.end();
    response.end();
  });
  stream.on('error', () => response.destroy());
  stream.once('close', () => {
    if (!stream.readableEnded) response.destroy();
  });
  response.once('close', () => stream.destroy());
}

const used = new WeakSet<Socket>();

async function exchangeOf(request: http.IncomingMessage): Promise<Exchange> {
  const { method = '', url = '', rawHeaders, socket } = request;
  const connection = used.has(socket) ? 'kept' : 'new';
  used.add(socket);
  return { method, url, headers: endToEnd(rawHeaders), body: Buffer.concat(await request.toArray()), connection };
}

type Responder = (exchange: Exchange, response: http.ServerResponse, signal: AbortSignal) => Promise<void>;

/** What breaks off or is not there breaks off for the client. */
const served =
  (respond: Responder): http.RequestListener =>
  async (request, response) => {
    const over = new AbortController();
    response.once('close', () => over.abort());
    // A client may go at any moment.
    response.on('error', () => {});
    try {
      await respond(await exchangeOf(request), response, over.signal);
    } catch {
      response.destroy();
    }
  };

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
  readonly #respond: Responder;
  readonly #at: string | { host: string; port: number };
  #server: http.Server | undefined;

  constructor(at: string | { host: string; port: number }, respond: Responder) {
    this.#at = at;
    this.#respond = respond;
  }

  async open(): Promise<number> {
    if (this.#server !== undefined) return 0;
    // A connection is the client's to close: a server that closes idle ones races with its requests.
    this.#server = http.createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, served(this.#respond));
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

/** Sends an answer, or a stream on. */
const answering =
  (it: Perturbation, api: PlatformChanges | DeviceChanges, trace: Trace): Responder =>
  async (exchange, response, signal) => {
    const answer = await api.answer(exchange, signal);
    if (it.kind === 'slower') await sleep(SLOWER_MS);
    if (KINDS[it.kind].of === 'bytes') trace('a');
    if ('stream' in answer) pipe(it, answer, response, api as DeviceChanges, trace);
    else send(it, response, answer);
  };

async function beforePlatform({ server, perturbation, keys }: Plan, trace: Trace): Promise<void> {
  const { url: at } = await started(server);
  const url = new URL(String(at));
  const api = new PlatformChanges(perturbation, { host: url.hostname, port: Number(url.port) }, trace, keys);
  url.port = String(await new Place({ host: '127.0.0.1', port: 0 }, answering(perturbation, api, trace)).open());
  process.stdout.write(`${JSON.stringify({ ready: true, url: String(url) })}\n`);
}

async function beforeDevice(
  { server, perturbation, folder }: Plan,
  trace: Trace,
  restarted: boolean,
  [own = '', ownControl = '', dir = '']: readonly string[],
): Promise<void> {
  const [socketPath, controlPath] = [join(folder, 's.sock'), join(folder, 'c.sock')];
  await started(`${server} --socket '${socketPath}' --control '${controlPath}' --dir '${dir}'`);
  const api = new DeviceChanges(perturbation, { socketPath }, trace, restarted);
  const place = new Place(own, answering(perturbation, api, trace));
  const control = new Place(ownControl, async (exchange, response) => {
    const answer = await api.control(exchange, { socketPath: controlPath });
    // Whoever is answered finds the agent as the answer says.
    if (exchange.url === '/stop' && answer.status < 300) place.close();
    if (exchange.url === '/start' && answer.status < 300) await place.open();
    send({ kind: undefined }, response, answer);
  });
  await control.open();
  await place.open();
  process.stdout.write(`${JSON.stringify({ ready: true, socket: own })}\n`);
}

const [file = '', ...places] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(file, 'utf8')) as Plan;
const restarted = existsSync(plan.trace);
let traced = 0;
const trace: Trace = (letter) => {
  traced += 1;
  if (traced <= MOST_TRACED) appendFileSync(plan.trace, letter);
};
appendFileSync(plan.trace, '');
await (plan.perturbation.api === 'device' ? beforeDevice(plan, trace, restarted, places) : beforePlatform(plan, trace));
