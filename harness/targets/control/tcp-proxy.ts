/** A TCP proxy between an agent and what it talks to, so that a suite can take the agent offline. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Passes bytes on in both directions until it is cut. */
export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut = false;
  /** The URL of the destination with the host and the port of the proxy. */
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

  /** Listens on loopback, by default on a free port. */
  static async to(url: string, port = 0): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(url));
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject);
      proxy.#server.listen({ host: '127.0.0.1', port, backlog: 1024 }, resolve);
    });
    const near = new URL(url);
    near.hostname = '127.0.0.1';
    near.port = String((proxy.#server.address() as AddressInfo).port);
    proxy.url = near.pathname === '/' && !url.endsWith('/') ? near.href.replace(/\/$/, '') : near.href;
    return proxy;
  }

  /** Resets the open connections and refuses new ones, until `restore`. */
  cut(): void {
    this.#cut = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Accepts connections again. */
  restore(): void {
    this.#cut = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
