/** A TCP link that can be cut: stands between an agent and what it talks to, so that a suite can take it offline. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut = false;
  /** The same URL as the destination's, but for the port. */
  url = '';

  private constructor(destination: URL) {
    const port = Number(destination.port || (/^(https|wss):$/.test(destination.protocol) ? 443 : 80));
    this.#server = createServer((near) => {
      if (this.#cut) {
        near.resetAndDestroy();
        return;
      }
      const far = connect({ host: destination.hostname, port });
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one);
        one.once('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
        one.on('error', () => other.destroy());
        one.pipe(other);
      }
    });
  }

  /** Listens on a free port of loopback. */
  static async to(url: string): Promise<TcpProxy> {
    const link = new TcpProxy(new URL(url));
    await new Promise<void>((resolve, reject) => {
      link.#server.once('error', reject);
      link.#server.listen({ host: '127.0.0.1', port: 0, backlog: 1024 }, resolve);
    });
    const near = new URL(url);
    near.hostname = '127.0.0.1';
    near.port = String((link.#server.address() as AddressInfo).port);
    link.url = near.pathname === '/' && !url.endsWith('/') ? near.href.replace(/\/$/, '') : near.href;
    return link;
  }

  /** Resets what is open and refuses what comes. */
  cut(): void {
    this.#cut = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  restore(): void {
    this.#cut = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
