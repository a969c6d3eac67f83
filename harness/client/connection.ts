/** Connects to the target, by undici's pool for HTTP or by a bare socket. */

import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { defined } from '../common/defined.ts';
import { tls } from '../common/node-tls.ts';
import { Patience } from '../common/waiting.ts';
import { entranceOf } from './entrance.ts';
import { classify, errorOf, notConnected, Unreachable } from './errors.ts';

export interface Endpoint {
  /** `http://host:port` or `https://…`; with a socket path, the host is only a name. */
  origin: string;
  socketPath?: string;
  /** Trusted certificate authorities as PEM text. Default: Node's root certificates. */
  ca?: string;
  caFile?: string | undefined;
}

function hostAndPort(origin: string): { host: string; port: number; secure: boolean } {
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
  /** Milliseconds within which to connect, including the TLS handshake. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Opens a socket. Throws Unreachable, LimitReached or the reason of an abort; errors call the target `where`. */
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
      // Handles later errors, because Node ends the process on an 'error' event without a listener.
      socket.on('error', () => {});
      resolve(socket);
    });
  });
}

function startConnecting({ origin, socketPath, ca }: Endpoint): { socket: Socket; ready: string } {
  if (socketPath !== undefined) return { socket: connectTcp({ path: socketPath }), ready: 'connect' };
  const { host, port, secure } = hostAndPort(origin);
  if (!secure) return { socket: connectTcp({ host, port }), ready: 'connect' };
  // Sends no server name for an IP address, because TLS forbids such a name (RFC 6066, section 3).
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const socket = tls.connect({ host, port, ...servername, ...defined({ ca }) });
  return { socket, ready: 'secureConnect' };
}

export function agentFor(endpoint: Endpoint, { keepsAlive = false } = {}): Agent {
  return new Agent({
    // Reuses connections for HTTPS only, to save handshakes; a server may close an idle connection while a request
    // arrives.
    pipelining: keepsAlive || endpoint.origin.startsWith('https:') ? 1 : 0,
    keepAliveTimeout: 1000,
    connections: 128,
    maxHeaderSize: 256 * 1024,
    connect: connectorFor(endpoint),
  });
}

const CONNECT_MS = 10_000;

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
          // Destroys the socket on an error, so that undici reports the TLS alert, not the later end.
          if (secure) socket.once('error', (error) => socket.destroy(error));
          done(null, socket);
        },
        (error: Error) => done(notConnected(error), null),
      );
  };
}

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
