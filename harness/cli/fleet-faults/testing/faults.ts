import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, Server as TlsServer } from 'node:tls';
import { reset } from '../../../common/reset.ts';
import type { ServerCertificate } from '../../enrol/authority.ts';

export interface ProxyOptions {
  host?: string;
  /** Certificate for TLS towards clients; connections to the target stay plain TCP. */
  tls?: ServerCertificate;
}

export class FaultyProxy implements AsyncDisposable {
  readonly #target: { host: string; port: number };
  readonly #open = new Set<Socket>();
  #server: Server | undefined;
  readonly #host: string;
  #tls: ServerCertificate | undefined;
  #port = 0;
  delayMs = 0;
  /** True for a piece of an answer after whose first half the proxy resets the connection. */
  resets: (piece: Buffer) => boolean = () => false;
  tries = 0;

  private constructor(url: string, { host = '127.0.0.1', tls }: ProxyOptions) {
    this.#host = host;
    this.#tls = tls;
    const { hostname, port } = new URL(url);
    this.#target = { host: hostname, port: Number(port) };
  }

  static async before(url: string, options: ProxyOptions = {}): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(url, options);
    await proxy.start();
    return proxy;
  }

  instead(url: string): string {
    const { protocol, pathname } = new URL(url);
    const scheme = this.#tls === undefined ? protocol : protocol.replace(/s?:$/, 's:');
    return `${scheme}//${this.#host}:${this.#port}${pathname === '/' ? '' : pathname}`;
  }

  async start(): Promise<void> {
    const accept = (socket: Socket) => this.#accept(socket);
    // Allows half-open connections only without TLS: after a broken handshake, TLS sockets would stay open.
    const server = this.#tls ? createTlsServer(this.#tls, accept) : createServer({ allowHalfOpen: true }, accept);
    server.on('connection', () => (this.tries += 1));
    server.listen({ host: this.#host, port: this.#port, backlog: 8192 });
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = once(server, 'close');
    server.close();
    this.cut();
    await closed;
  }

  renew(tls: ServerCertificate): void {
    this.#tls = tls;
    if (this.#server instanceof TlsServer) this.#server.setSecureContext(tls);
  }

  cut(): void {
    for (const socket of this.#open) reset(socket);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #accept(client: Socket): void {
    const target = connect({ ...this.#target, allowHalfOpen: true });
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      this.#open.add(from);
      from.setNoDelay(true);
      from.on('error', () => {});
      from.on('end', () => to.end());
      from.once('close', () => {
        this.#open.delete(from);
        to.destroy();
      });
    }
    client.on('data', (piece: Buffer) => target.write(piece));
    target.on('data', (piece: Buffer) => this.#answer(client, target, piece));
  }

  #answer(client: Socket, target: Socket, piece: Buffer): void {
    const pass = (): void => {
      if (client.destroyed) return;
      if (!this.resets(piece)) {
        client.write(piece);
        return;
      }
      client.write(piece.subarray(0, piece.length >> 1), () => reset(client));
      target.destroy();
    };
    if (this.delayMs === 0) pass();
    else setTimeout(pass, this.delayMs);
  }
}

/** Numbers cables for short names, because Linux limits names of interfaces to 15 characters. */
let cables = 0;

export const noNamespaces = (() => {
  if (process.getuid?.() !== 0) return ' (skipped: needs root)';
  try {
    const name = `muster-try-${process.pid}`;
    run('ip', 'netns', 'add', name);
    run('ip', 'netns', 'del', name);
    return '';
  } catch (error) {
    return ` (skipped: no network namespaces: ${(error as Error).message.split('\n')[0]})`;
  }
})();

function run(program: string, ...words: string[]): void {
  execFileSync(program, words, { stdio: ['ignore', 'ignore', 'pipe'] });
}

export class Cable implements Disposable {
  readonly #name = `mf${process.pid}-${++cables}`;
  readonly #near = `n${this.#name}`.slice(0, 15);
  readonly #net = `10.${200 + (process.pid % 50)}.${(process.pid >> 6) % 250}`;
  readonly address = `${this.#net}.1`;

  constructor() {
    const far = `f${this.#name}`.slice(0, 15);
    run('ip', 'netns', 'add', this.#name);
    run('ip', '-n', this.#name, 'link', 'set', 'lo', 'up');
    run('ip', 'link', 'add', this.#near, 'type', 'veth', 'peer', 'name', far, 'netns', this.#name);
    run('ip', 'address', 'add', `${this.address}/30`, 'dev', this.#near);
    run('ip', '-n', this.#name, 'address', 'add', `${this.#net}.2/30`, 'dev', far);
    run('ip', '-n', this.#name, 'link', 'set', far, 'up');
    this.plug();
  }

  get farEnd(): string[] {
    return ['ip', 'netns', 'exec', this.#name];
  }

  plug(): void {
    run('ip', 'link', 'set', this.#near, 'up');
  }

  /** Drops every packet silently, so that neither end notices the broken connection. */
  unplug(): void {
    run('ip', 'link', 'set', this.#near, 'down');
  }

  [Symbol.dispose](): void {
    run('ip', 'netns', 'del', this.#name);
  }
}

const PLACES = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib', '/usr/lib64'];
const library = PLACES.map((place) => `${place}/faketime/libfaketimeMT.so.1`).find((path) => existsSync(path));
export const noFaketime = library === undefined ? ' (skipped: libfaketime is not installed)' : '';

/** Environment of a process whose wall clock `turn` shifts; the monotonic clock stays correct. */
export function turnableClock(file: string) {
  const turn = (by: string): void => writeFileSync(file, `${by}\n`);
  turn('+0');
  const settings = { FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1', DONT_FAKE_MONOTONIC: '1' };
  return { turn, env: { LD_PRELOAD: library ?? '', ...settings } };
}

export function familyOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
    return [pid, ...children.flatMap(familyOf)];
  } catch {
    return [];
  }
}
