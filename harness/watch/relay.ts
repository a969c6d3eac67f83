/** Relays bytes unchanged; a tap observes the bytes without delaying them. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { limitIn, notConnected } from '../client/errors.ts';
import { orElse } from '../common/lenient.ts';
import { tls } from '../common/node-tls.ts';
import { reset } from '../common/reset.ts';

/** TLS connections that ended without close_notify. */
const torn = new WeakSet<Socket>();

export const isTorn = (socket: Socket): boolean => torn.has(socket);

export function watchTlsEnd(socket: TLSSocket): TLSSocket {
  const push = socket.push.bind(socket);
  // Checks before the later 'end' event, at which the TCP socket may have ended even after close_notify.
  socket.push = (piece, encoding) => {
    if (piece === null) {
      // Reads undocumented state of Node: `readStart` returns 0 only once the TCP socket has ended, and after
      // close_notify the TCP socket is open.
      const { _handle: handle } = socket as unknown as {
        _handle?: { reading?: boolean; _parent?: { readStart?(): number } };
      };
      if (handle?.reading === true && handle._parent?.readStart?.() === 0) torn.add(socket);
    }
    return push(piece, encoding);
  };
  return socket;
}

export type Side = 'client' | 'server';

/** `end`: the side sends no more bytes; `cut`: the side's connection broke. */
export type Ending = 'end' | 'cut';

/** Observer of relayed bytes; copies what it keeps, because the relay still sends `piece`. */
export interface Tap {
  opened(connection: number): void;
  bytes(connection: number, from: Side, piece: Buffer): void;
  ended(connection: number, from: Side, how: Ending): void;
  refused(connection: number, why: string): void;
  /** Takes the error that another method has thrown; no call follows. */
  fail(error: unknown): void;
}

export type Place = { readonly path: string } | { readonly host: string; readonly port: number };

export interface Upstream {
  readonly place: Place;
  /** `ca`: trusted certificate authorities as PEM; `servername`: name in the server's certificate. */
  readonly tls?: { readonly ca?: string; readonly servername?: string };
}

interface RelayOptions {
  listen: Place;
  tls?: { readonly cert: string; readonly key: string };
  /** Called for each connection, because a restarted agent may have a different port. Throws if no address is known. */
  upstream(): Upstream;
  tap: Tap;
  outages?: {
    refused(why: string): void;
    reached(): void;
    handshakeFailed?(why: string): void;
  };
}

export class Relay implements AsyncDisposable {
  readonly #server: Server;
  readonly #options: RelayOptions;
  readonly #sockets = new Set<Socket>();
  readonly #accepted = new Set<Socket>();
  readonly #lingering = new Map<Socket, Socket>();
  #connections = 0;
  #tap: Tap | undefined;

  private constructor(options: RelayOptions) {
    this.#options = options;
    this.#tap = options.tap;
    const { tls: secure } = options;
    const half = { allowHalfOpen: true, noDelay: true } as const;
    const accept = (socket: Socket): void => this.#accept(socket);
    this.#server =
      secure === undefined
        ? createServer(half, accept)
        : tls.createServer({ ...half, ...secure, ALPNProtocols: ['http/1.1'] }, accept);
    this.#server.on('tlsClientError', (error) =>
      this.#tell(() => this.#options.outages?.handshakeFailed?.(whyOf(error))),
    );
    this.#server.on('connection', (socket: Socket) => {
      this.#accepted.add(socket);
      socket.once('close', () => this.#accepted.delete(socket));
    });
  }

  /** Resolves once clients can connect. Rejects with the system's error. */
  static async open(options: RelayOptions): Promise<Relay> {
    const relay = new Relay(options);
    await once(relay.#server.listen({ ...options.listen, backlog: 4096 }), 'listening');
    // Ignores a failed accept, e.g. for lack of descriptors, which affects no open connection.
    relay.#server.on('error', () => {});
    return relay;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  get open(): number {
    return Math.ceil(this.#sockets.size / 2);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of [...this.#sockets, ...this.#accepted]) socket.destroy();
    await closed;
  }

  #accept(client: Socket): void {
    this.#connections += 1;
    const connection = this.#connections;
    this.#look((tap) => tap.opened(connection));
    let server: Socket;
    try {
      const { place, tls: secure } = this.#options.upstream();
      const half = { ...place, allowHalfOpen: true };
      const overTls: ConnectionOptions = { ...half, ...secure, ALPNProtocols: ['http/1.1'] };
      server = secure === undefined ? connect(half) : watchTlsEnd(tls.connect(overTls));
    } catch (error) {
      client.on('error', () => {});
      this.#refused(connection, String(error));
      reset(client);
      return;
    }
    this.#join(connection, client, server);
  }

  #join(connection: number, client: Socket, server: Socket): void {
    let reached = false;
    server.once(server instanceof tls.TLSSocket ? 'secureConnect' : 'connect', () => {
      reached = true;
      this.#tell(() => this.#options.outages?.reached());
    });
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.once('close', () => this.#sockets.delete(socket));
    }
    server.once('error', (error) => {
      if (!reached) this.#refused(connection, whyOf(error));
    });
    this.#forward(connection, 'client', client, server);
    this.#forward(connection, 'server', server, client);
    server.once('end', () => client.once('finish', () => this.#linger(client, server)));
  }

  #linger(client: Socket, server: Socket): void {
    if (client.readableEnded) return;
    const last = (): void => {
      this.#lingering.delete(client);
      this.#lingering.set(client, server);
    };
    last();
    client.on('data', last);
    client.once('close', () => this.#lingering.delete(client));
    // Keeps 32 connections that a server has ended and a client has not; beyond, closes the longest silent one.
    if (this.#lingering.size <= 32) return;
    const [silent] = [...this.#lingering].filter(([, its]) => its.writableLength === 0);
    if (silent === undefined) return;
    const [longest, its] = silent;
    this.#lingering.delete(longest);
    // Closes the server's side too, so that a server that still reads sees an end, not a reset.
    its.destroy();
    longest.destroy();
  }

  #forward(connection: number, from: Side, source: Socket, sink: Socket): void {
    let over = false;
    const ended = (how: Ending): void => {
      if (over) return;
      over = true;
      this.#look((tap) => tap.ended(connection, from, how));
    };
    source.on('data', (piece: Buffer) => {
      if (sink.writable && !sink.write(piece)) source.pause();
      this.#look((tap) => tap.bytes(connection, from, piece));
    });
    sink.on('drain', () => source.resume());
    source.once('end', () => {
      const isCut = isTorn(source);
      ended(isCut ? 'cut' : 'end');
      // Passes on an unclean end only to TLS, because only TLS can show it.
      if (isCut && sink instanceof tls.TLSSocket) sink.write('', () => sink.destroy());
      else sink.end();
    });
    source.once('error', () => {
      ended('cut');
      reset(sink);
    });
    source.once('close', () => {
      ended('cut');
      if (!source.readableEnded) reset(sink);
    });
  }

  #refused(connection: number, why: string): void {
    this.#look((tap) => tap.refused(connection, why));
    this.#tell(() => this.#options.outages?.refused(why));
  }

  /** Ignores a failing callback, which does not affect the next client. */
  #tell(what: () => void): void {
    orElse(what, undefined);
  }

  #look(at: (tap: Tap) => void): void {
    const tap = this.#tap;
    if (tap === undefined) return;
    try {
      at(tap);
    } catch (error) {
      this.#tap = undefined;
      this.#tell(() => tap.fail(error));
    }
  }
}

/**
 * A limit of this machine comes first, because the server is then not at fault. Node names the address only in errors
 * of `connect`.
 */
const whyOf = (error: Error): string =>
  limitIn(error) ?? ('syscall' in error && error.syscall === 'connect' ? error.message : notConnected(error).message);
