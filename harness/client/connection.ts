/** Connects to the target by Node's HTTP agent or a bare socket; retries while the listener's backlog is full. */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { defined } from '../common/defined.ts';
import { madeOnce } from '../common/lenient.ts';
import { http } from '../common/node-http.ts';
import { tls } from '../common/node-tls.ts';
import { backoffMs, Patience } from '../common/waiting.ts';
import { classify, codeOf, errorOf, notConnected, Unreachable } from './errors.ts';

const PAUSES = { firstMs: 5, longestMs: 200 };

/** Retries while a listener's backlog is full; Python's `socketserver` has a backlog of 5. */
class Entrance {
  #queue: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #lastEntered = Number.NEGATIVE_INFINITY;

  async enter<T>(connect: () => Promise<T>, withinMs: number, signal?: AbortSignal): Promise<T> {
    const deadline = performance.now() + withinMs;
    try {
      if (this.#waiting === 0) return await this.#once(connect);
    } catch (error) {
      if (!this.#isFull(error, 0)) throw error;
    }
    return this.#inTurn(() => this.#again(connect, deadline, signal));
  }

  async #once<T>(connect: () => Promise<T>): Promise<T> {
    const connection = await connect();
    this.#lastEntered = performance.now();
    return connection;
  }

  async #again<T>(connect: () => Promise<T>, deadline: number, signal: AbortSignal | undefined): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        signal?.throwIfAborted();
        return await this.#once(connect);
      } catch (error) {
        if (!this.#isFull(error, attempt) || performance.now() >= deadline) throw error;
      }
      await sleep(backoffMs(PAUSES, attempt), undefined, signal === undefined ? {} : { signal });
    }
  }

  #isFull(error: unknown, refusals: number): boolean {
    const code = codeOf(error);
    if (code === 'EAGAIN') return true;
    // Within a second of a success, a refusal means a full backlog, not a missing listener.
    return code === 'ECONNREFUSED' && refusals < 4 && performance.now() - this.#lastEntered < 1000;
  }

  async #inTurn<T>(turn: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    const mine = this.#queue.then(turn);
    this.#queue = mine.catch(() => {});
    try {
      return await mine;
    } finally {
      this.#waiting -= 1;
    }
  }
}

const ENTRANCES = new WeakMap<object, Entrance>();

const entranceOf = (endpoint: object): Entrance => madeOnce(ENTRANCES, endpoint, () => new Entrance());

export interface Endpoint {
  /** `http://host:port` or `https://…`; with a socket path, the host is only a name. */
  origin: string;
  socketPath?: string;
  /** Trusted authorities in PEM. Default: Node's root certificates. */
  ca?: string;
  caFile?: string | undefined;
}

export function hostAndPort(origin: string): { host: string; port: number; secure: boolean } {
  const { hostname, port, protocol } = new URL(origin);
  const secure = protocol === 'https:';
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || (secure ? 443 : 80)), secure };
}

export function socatAddress({ origin, socketPath, caFile }: Endpoint): string {
  if (socketPath !== undefined) return `UNIX-CONNECT:${socketPath}`;
  const { host, port, secure } = hostAndPort(origin);
  const address = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  return secure ? `OPENSSL:${address}${caFile === undefined ? '' : `,cafile=${caFile}`}` : `TCP:${address}`;
}

export interface Connecting {
  /** Milliseconds to connect, including the TLS handshake. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Throws Unreachable, LimitReached or the reason of an abort; `where` names the target in errors. */
export async function openSocket(endpoint: Endpoint, where: string, connecting: Connecting): Promise<Socket> {
  const { timeoutMs, signal } = connecting;
  try {
    return await entranceOf(endpoint).enter(() => opened(endpoint, connecting), timeoutMs, signal);
  } catch (error) {
    throw error === signal?.reason ? error : classify(error, where);
  }
}

/** Closes the connection on an abort, even once open. Rejects with Unreachable or the abort's reason. */
function opened(endpoint: Endpoint, { timeoutMs, signal }: Connecting): Promise<Socket> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const { socket, ready } = startConnecting(endpoint);
    const abort = (): void => void socket.destroy(errorOf(signal?.reason));
    const stop = new Patience(timeoutMs).watch(() =>
      socket.destroy(new Unreachable(`nothing came for ${timeoutMs} ms`)),
    );
    const fail = (error: Error): void => {
      stop();
      reject(error instanceof Unreachable || error === signal?.reason ? error : notConnected(error));
    };
    signal?.addEventListener('abort', abort, { once: true });
    socket.once('close', () => signal?.removeEventListener('abort', abort));
    socket.once('error', fail);
    socket.once(ready, () => {
      stop();
      socket.off('error', fail);
      // Node ends the process on an 'error' event without a listener.
      socket.on('error', () => {});
      resolve(socket);
    });
  });
}

function startConnecting({ origin, socketPath, ca }: Endpoint): { socket: Socket; ready: string } {
  if (socketPath !== undefined) return { socket: connectTcp({ path: socketPath }), ready: 'connect' };
  const { host, port, secure } = hostAndPort(origin);
  if (!secure) return { socket: connectTcp({ host, port }), ready: 'connect' };
  // TLS forbids an IP address as server name (RFC 6066, section 3).
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return { socket: tls.connect({ host, port, ...servername, ...defined({ ca }) }), ready: 'secureConnect' };
}

const CONNECT_MS = 10_000;

/** Retries while the backlog is full; errors of connecting are Unreachable. */
export class EndpointAgent extends http.Agent {
  readonly #endpoint: Endpoint;

  /** `keepsAlive`: by default only over HTTPS, to save handshakes. */
  constructor(endpoint: Endpoint, { keepsAlive = endpoint.origin.startsWith('https:') } = {}) {
    super({ keepAlive: keepsAlive, timeout: 1000 });
    this.#endpoint = endpoint;
  }

  override createConnection(_options: unknown, done?: (error: Error | null, socket: Duplex) => void): undefined {
    const connect = (): Promise<Socket> => opened(this.#endpoint, { timeoutMs: CONNECT_MS });
    entranceOf(this.#endpoint)
      .enter(connect, CONNECT_MS)
      .then(
        (socket) => done?.(null, socket),
        (error: Error) => done?.(error, undefined as never),
      );
  }
}

export const hostOf = ({ origin }: Endpoint): string => new URL(origin).host;
