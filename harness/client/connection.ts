/** Connections to the target: undici's pool for HTTP, and bare sockets. */

import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { defined } from '../common/defined.ts';
import { tls } from '../common/node-tls.ts';
import { Patience } from '../common/waiting.ts';
import { entranceOf } from './entrance.ts';
import { classify, errorOf, notConnected, Unreachable } from './errors.ts';

export interface Endpoint {
  /** `http://host:port` or `https://…`; a socket path makes the host a mere name. */
  origin: string;
  socketPath?: string;
  /** PEM of certificate authorities to trust besides the system's. */
  ca?: string;
  /** File of `ca`, for `curl` lines. */
  caFile?: string | undefined;
}

/** Host as a socket takes it (IPv6 without brackets), and port. */
function hostAndPort(origin: string): { host: string; port: number; secure: boolean } {
  const { hostname, port, protocol } = new URL(origin);
  const secure = protocol === 'https:';
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || (secure ? 443 : 80)), secure };
}

/** Address for `socat`, which sends bytes that no HTTP client would send. */
export function socatAddress({ origin, socketPath, caFile }: Endpoint): string {
  if (socketPath !== undefined) return `UNIX-CONNECT:${socketPath}`;
  const { host, port, secure } = hostAndPort(origin);
  const address = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  return secure ? `OPENSSL:${address}${caFile === undefined ? '' : `,cafile=${caFile}`}` : `TCP:${address}`;
}

export interface Connecting {
  /** Milliseconds until connected, TLS included. */
  timeoutMs: number;
  /** Destroys the socket, even once connected. */
  signal?: AbortSignal | undefined;
}

/**
 * Bare connection. Throws Unreachable, NoAnswer, or the reason of an aborted signal. `where` names the target in
 * errors.
 */
export function openSocket(endpoint: Endpoint, where: string, connecting: Connecting): Promise<Socket> {
  const connect = (): Promise<Socket> => connectOnce(endpoint, where, connecting);
  return entranceOf(endpoint).enter(connect, connecting.timeoutMs, connecting.signal);
}

function connectOnce(endpoint: Endpoint, where: string, { timeoutMs, signal }: Connecting): Promise<Socket> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const { socket, ready } = startConnecting(endpoint);
    const abort = (): void => void socket.destroy(errorOf(signal?.reason));
    const stop = new Patience(timeoutMs).watch(() =>
      socket.destroy(new Unreachable(`${where}: cannot connect (nothing came for ${timeoutMs} ms)`)),
    );
    const fail = (error: Error): void => {
      stop();
      reject(error instanceof Unreachable || error === signal?.reason ? error : classify(notConnected(error), where));
    };
    signal?.addEventListener('abort', abort, { once: true });
    socket.once('close', () => signal?.removeEventListener('abort', abort));
    socket.once('error', fail);
    socket.once(ready, () => {
      stop();
      socket.off('error', fail);
      // Without a listener, the error of an abort would end the process.
      socket.on('error', () => {});
      resolve(socket);
    });
  });
}

function startConnecting({ origin, socketPath, ca }: Endpoint): { socket: Socket; ready: string } {
  if (socketPath !== undefined) return { socket: connectTcp({ path: socketPath }), ready: 'connect' };
  const { host, port, secure } = hostAndPort(origin);
  if (!secure) return { socket: connectTcp({ host, port }), ready: 'connect' };
  // TLS forbids an address as a server name.
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const socket = tls.connect({ host, port, ...servername, ...defined({ ca }) });
  return { socket, ready: 'secureConnect' };
}

/** Pool of connections that clients of one target share. */
export function agentFor(endpoint: Endpoint, { keepsAlive = false } = {}): Agent {
  return new Agent({
    // A server that closes a kept connection just as a request goes out looks broken, so connections close at once.
    // Over https, where a handshake costs round trips, they stay open briefly.
    pipelining: keepsAlive || endpoint.origin.startsWith('https:') ? 1 : 0,
    keepAliveTimeout: 1000,
    connections: 128,
    maxHeaderSize: 256 * 1024,
    connect: connectorFor(endpoint),
  });
}

const CONNECT_MS = 10_000;

/** Makes undici's connections, and waits if the listener is full. */
function connectorFor(endpoint: Endpoint): buildConnector.connector {
  const { origin, socketPath, ca } = endpoint;
  const secure = origin.startsWith('https:');
  const connect = buildConnector({ timeout: CONNECT_MS, ...defined({ socketPath, ca }) });
  return (options, done) => {
    const once = (): Promise<Socket> =>
      new Promise((resolve, reject) =>
        connect(options, (error, socket) => (error === null ? resolve(socket) : reject(error))),
      );
    entranceOf(endpoint)
      .enter(once, CONNECT_MS)
      .then(
        (socket) => {
          // After an alert a TLS socket goes on, and undici would report the later end instead.
          if (secure) socket.once('error', (error) => socket.destroy(error));
          done(null, socket);
        },
        (error: Error) => done(notConnected(error), null),
      );
  };
}

/** Calls `connected` just before the request is sent: silence until then is not the target's doing. */
export const noteConnection =
  (connected: () => void): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) =>
    dispatch(options, {
      onRequestStart: (...all) => {
        connected();
        handler.onRequestStart?.(...all);
      },
      onRequestUpgrade: (...all) => handler.onRequestUpgrade?.(...all),
      onResponseStart: (...all) => handler.onResponseStart?.(...all),
      onResponseData: (...all) => handler.onResponseData?.(...all),
      onResponseEnd: (...all) => handler.onResponseEnd?.(...all),
      onResponseError: (...all) => handler.onResponseError?.(...all),
    });
