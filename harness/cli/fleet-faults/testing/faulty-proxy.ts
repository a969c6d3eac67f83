/** A TCP proxy that a test makes worse: it can be gone, cut what is open, hold bytes back, and reset in the middle of an answer. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket, Server as TlsServer } from 'node:tls';
import type { Certificate } from './certificates.ts';

export interface ProxyOptions {
  /** Where it listens. Default 127.0.0.1. */
  host?: string;
  /** It speaks TLS with this certificate, and plain TCP to its target. Default: plain TCP. */
  tls?: Certificate;
}

export class FaultyProxy implements AsyncDisposable {
  readonly #target: { host: string; port: number };
  readonly #open = new Set<Socket>();
  #server: Server | undefined;
  readonly #host: string;
  #tls: Certificate | undefined;
  #port = 0;
  /** Milliseconds that each piece of an answer is held back. */
  delayMs = 0;
  /** Called for each piece of an answer; true resets the connection after the first half of it. */
  resets: (piece: Buffer) => boolean = () => false;
  /** Connections that came so far, those whose TLS handshake fails among them. */
  tries = 0;

  private constructor(url: string, { host = '127.0.0.1', tls }: ProxyOptions) {
    this.#host = host;
    this.#tls = tls;
    const { hostname, port } = new URL(url);
    this.#target = { host: hostname, port: Number(port) };
  }

  /** `url`: what it passes everything on to. */
  static async before(url: string, options: ProxyOptions = {}): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(url, options);
    await proxy.start();
    return proxy;
  }

  /** `url` with the address of the proxy in place of its own. */
  instead(url: string): string {
    const { protocol, pathname } = new URL(url);
    const scheme = this.#tls === undefined ? protocol : protocol.replace(/s?:$/, 's:');
    return `${scheme}//${this.#host}:${this.#port}${pathname === '/' ? '' : pathname}`;
  }

  /** Listens, on the same port as before. */
  async start(): Promise<void> {
    const accept = (socket: Socket) => this.#accept(socket);
    // Where half-open connections are allowed, one that ends within its handshake stays for ever.
    const server = this.#tls ? createTlsServer(this.#tls, accept) : createServer({ allowHalfOpen: true }, accept);
    server.on('connection', () => {
      this.tries += 1;
    });
    server.listen({ host: this.#host, port: this.#port, backlog: 8192 });
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Listens no more, and resets every connection, as the kernel does for a process that is killed. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = once(server, 'close');
    server.close();
    this.cut();
    await closed;
  }

  /** Shows another certificate from now on, to new connections. */
  renew(tls: Certificate): void {
    this.#tls = tls;
    if (this.#server instanceof TlsServer) this.#server.setSecureContext(tls);
  }

  /** Resets every connection. */
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

/** Node resets no TLS connection; it is ended without its last words. */
const reset = (socket: Socket): void =>
  void (socket instanceof TLSSocket ? socket.destroy() : socket.resetAndDestroy());
