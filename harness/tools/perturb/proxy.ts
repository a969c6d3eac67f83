/**
 * `node proxy.ts PLAN`: starts a server and a proxy that changes some of the server's answers.
 * A signal to the process group ends server and proxy.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo, ListenOptions, Socket } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { DeviceChanges, Frames, type Stream } from './device.ts';
import { type Answer, type Exchange, endToEnd, type Trace } from './forward.ts';
import { groupOf, type Kind, type Perturbation } from './perturbation.ts';
import { PlatformChanges } from './platform.ts';

export interface Plan {
  perturbation: Perturbation;
  /** Shell line that starts the server; for a device, the proxy appends the paths. */
  server: string;
  folder: string;
  trace: string;
}

const SLOWER_MS = 15;

function headersFor(kind: Kind | undefined, headers: readonly string[]): string[] {
  if (kind === 'header-case') return headers.map((each, n) => (n % 2 === 0 ? each.toUpperCase() : each));
  if (kind === 'header-added') return [...headers, 'X-Note', 'one, two'];
  if (kind === 'header-order')
    return headers.flatMap((_, n) => (n % 2 === 0 ? headers.slice(headers.length - 2 - n, headers.length - n) : []));
  return [...headers];
}

function write(kind: Kind | undefined, response: http.ServerResponse, bytes: Buffer): void {
  const length = kind === 'split' ? 7 : bytes.length;
  for (let from = 0; from < bytes.length; from += length) response.write(bytes.subarray(from, from + length));
}

function send(kind: Kind | undefined, response: http.ServerResponse, answer: Answer): void {
  const { status, reason, headers, body, length } = answer;
  const own = headersFor(kind, headers);
  // An answer to HEAD has no body, only the length that the server stated.
  const bytes = body.length === 0 ? (length ?? '0') : String(body.length);
  if (kind !== 'split' && status !== 204 && status !== 304) own.push('Content-Length', bytes);
  if (kind === 'closed') own.push('Connection', 'close');
  response.writeHead(status, reason, own);
  write(kind, response, body);
  response.end();
}

async function pipe(
  it: Perturbation,
  { stream, isIn, headers }: Stream,
  response: http.ServerResponse,
  { device, trace, signal }: { device: DeviceChanges; trace: Trace; signal: AbortSignal },
): Promise<void> {
  response.writeHead(200, stream.statusMessage, headersFor(it.kind, headers));
  response.flushHeaders();
  const sendOn = (text: string): void => write(it.kind, response, Buffer.from(text));
  const frames = isIn ? new Frames(it, sendOn, trace) : undefined;
  for await (const text of stream.setEncoding('utf8') as AsyncIterable<string>) {
    if (it.kind === 'slower') await sleep(SLOWER_MS);
    device.noteIds(text);
    if (frames === undefined) sendOn(text);
    else frames.take(text);
    if (response.writableNeedDrain) await once(response, 'drain', { signal });
  }
  frames?.end();
  response.end();
}

type Responder = (exchange: Exchange, response: http.ServerResponse, signal: AbortSignal) => Promise<void>;

const used = new WeakSet<Socket>();

async function listen(at: string | ListenOptions, respond: Responder): Promise<http.Server> {
  // No timeouts, because closing an idle connection may lose a request under way.
  const server = http.createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, async (request, response) => {
    const over = new AbortController();
    response.once('close', () => over.abort());
    response.on('error', () => {});
    try {
      const { method = '', url = '', rawHeaders, socket } = request;
      const connection = used.has(socket) ? 'kept' : 'new';
      used.add(socket);
      const body = Buffer.concat(await request.toArray());
      await respond({ method, url, headers: endToEnd(rawHeaders), body, connection }, response, over.signal);
    } catch {
      response.destroy();
    }
  });
  if (typeof at === 'string') rmSync(at, { force: true });
  await once(server.listen(at), 'listening');
  return server;
}

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

const responder =
  (it: Perturbation, api: PlatformChanges | DeviceChanges, trace: Trace): Responder =>
  async (exchange, response, signal) => {
    const answer = await api.answer(exchange, signal);
    if (it.kind === 'slower') await sleep(SLOWER_MS);
    if (groupOf(it.kind) === 'bytes') trace('a');
    if ('stream' in answer) await pipe(it, answer, response, { device: api as DeviceChanges, trace, signal });
    else send(it.kind, response, answer);
  };

async function beforePlatform({ server, perturbation }: Plan, trace: Trace): Promise<object> {
  const url = new URL(String((await started(server))['url']));
  const api = new PlatformChanges(perturbation, { host: url.hostname, port: Number(url.port) }, trace);
  const proxy = await listen({ host: '127.0.0.1', port: 0 }, responder(perturbation, api, trace));
  url.port = String((proxy.address() as AddressInfo).port);
  return { url: String(url) };
}

async function beforeDevice(
  { server, perturbation, folder }: Plan,
  trace: Trace,
  restarted: boolean,
  [socket = '', control = '', dir = '']: readonly string[],
): Promise<object> {
  const [socketPath, controlPath] = [join(folder, 's.sock'), join(folder, 'c.sock')];
  await started(`${server} --socket '${socketPath}' --control '${controlPath}' --dir '${dir}'`);
  const api = new DeviceChanges(perturbation, { socketPath }, trace);
  api.restarted = restarted;
  const open = (): Promise<http.Server> => listen(socket, responder(perturbation, api, trace));
  let proxy: http.Server | undefined;
  await listen(control, async (exchange, response) => {
    const answer = await api.control(exchange, { socketPath: controlPath });
    // The proxy stops and starts with the agent, before the caller gets the answer.
    if (exchange.url === '/stop' && answer.status < 300) {
      proxy?.close().closeAllConnections();
      proxy = undefined;
    }
    if (exchange.url === '/start' && answer.status < 300) proxy ??= await open();
    send(undefined, response, answer);
  });
  proxy = await open();
  return { socket };
}

const [file = '', ...places] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(file, 'utf8')) as Plan;
const restarted = existsSync(plan.trace);
const traced = { v: 0, a: 0 };
const trace: Trace = (letter) => {
  traced[letter] += 1;
  if (traced[letter] <= 200) appendFileSync(plan.trace, letter);
};
appendFileSync(plan.trace, '');
const { api } = plan.perturbation;
const ready = await (api === 'device' ? beforeDevice(plan, trace, restarted, places) : beforePlatform(plan, trace));
process.stdout.write(`${JSON.stringify({ ready: true, ...ready })}\n`);
