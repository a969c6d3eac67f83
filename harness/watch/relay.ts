/**
 * Relays every byte between clients and a server, unchanged and in both directions. A tap sees the bytes, and cannot
 * change or delay them: its fault ends the watching, never the traffic.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { limitIn, notConnected } from '../client/errors.ts';
import { tls } from '../common/node-tls.ts';
import { isTorn, watchTlsEnd } from './tls-end.ts';

export type Side = 'client' | 'server';

/** End of a side: it sends no more, or its connection broke. */
export type Ending = 'end' | 'cut';

/** Observer of the traffic. `piece` is reused: copy it to keep it. */
export interface Tap {
  opened(connection: number): void;
  bytes(connection: number, from: Side, piece: Buffer): void;
  ended(connection: number, from: Side, how: Ending): void;
  refused(connection: number, why: string): void;
}

export type Place = { readonly path: string } | { readonly host: string; readonly port: number };

export interface Upstream {
  readonly place: Place;
  /** TLS with certificate authorities (PEM) beside those of the system, and the name in its certificate. */
  readonly tls?: { readonly ca?: string; readonly servername?: string };
}

export interface RelayOptions {
  listen: Place;
  tls?: { readonly cert: string; readonly key: string };
  /** Called for each connection, because an agent may return at another port. Throws if none is known. */
  upstream(): Upstream;
  tap: Tap;
  /** Called once with the tap's error; afterwards the tap is not called. */
  faulty(error: unknown): void;
  /** Called for each failed and each successful connection to the server. */
  outages?: {
    refused(why: string): void;
    reached(): void;
    /** Called for a failed TLS handshake of a client. */
    handshakeFailed?(why: string): void;
  };
}

/** Pending connections of a burst of clients. */
const BACKLOG = 4096;
/**
 * Connections kept after the server has ended but not the client, as in a pool. Most such servers are closed, and
 * answer further bytes with a reset, as a closed relay does; one may still read, so the most recently active are kept.
 */
const MOST_LINGERING = 32;

export class Relay implements AsyncDisposable {
  readonly #server: Server;
  readonly #options: RelayOptions;
  readonly #sockets = new Set<Socket>();
  /** Client connections, with unfinished handshakes too. */
  readonly #accepted = new Set<Socket>();
  /** Clients whose server has ended, with the server's socket; longest silent first. */
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

  /** Resolves when clients can connect. Rejects with the system's error. */
  static async open(options: RelayOptions): Promise<Relay> {
    const relay = new Relay(options);
    await new Promise<void>((resolve, reject) => {
      relay.#server.once('error', reject);
      relay.#server.listen({ ...options.listen, backlog: BACKLOG }, resolve);
    });
    // A failed accept, as for want of descriptors, affects no other connection.
    relay.#server.on('error', () => {});
    return relay;
  }

  /** Port in use if 0 was requested; 0 on a unix socket. */
  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  /** Open connections, each of two sockets. */
  get open(): number {
    // One side may be closed already.
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
      server = dial(this.#options.upstream());
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
    // Both have ended, and close by themselves.
    if (client.readableEnded) return;
    const last = (): void => {
      this.#lingering.delete(client);
      this.#lingering.set(client, server);
    };
    last();
    client.on('data', last);
    client.once('close', () => this.#lingering.delete(client));
    if (this.#lingering.size <= MOST_LINGERING) return;
    // Bytes on their way to a server still arrive.
    const [silent] = [...this.#lingering].filter(([, its]) => its.writableLength === 0);
    if (silent === undefined) return;
    const [longest, its] = silent;
    this.#lingering.delete(longest);
    // Server first, so that one that still reads sees an end instead of a reset.
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
      // Reads on if the other side is closed, like a server that has gone.
      if (sink.writable && !sink.write(piece)) source.pause();
      this.#look((tap) => tap.bytes(connection, from, piece));
    });
    sink.on('drain', () => source.resume());
    source.once('end', () => {
      const isCut = isTorn(source);
      ended(isCut ? 'cut' : 'end');
      // A sink without TLS cannot show an unclean end.
      if (isCut && sink instanceof tls.TLSSocket) tear(sink);
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

  #tell(what: () => void): void {
    try {
      what();
    } catch {
      // A failing callback does not affect the next client.
    }
  }

  #look(at: (tap: Tap) => void): void {
    if (this.#tap === undefined) return;
    try {
      at(this.#tap);
    } catch (error) {
      this.#tap = undefined;
      this.#tell(() => this.#options.faulty(error));
    }
  }
}

/**
 * Message of a failure: a limit of this machine first, since the server is not at fault. Node names the address only
 * for connecting.
 */
const whyOf = (error: Error): string =>
  limitIn(error) ?? ('syscall' in error && error.syscall === 'connect' ? error.message : notConnected(error).message);

function dial({ place, tls: secure }: Upstream): Socket {
  const half = { ...place, allowHalfOpen: true };
  if (secure === undefined) return connect(half);
  const options: ConnectionOptions = { ...half, ...secure, ALPNProtocols: ['http/1.1'] };
  return watchTlsEnd(tls.connect(options));
}

/** Ends after pending bytes, without a TLS close. */
function tear(socket: Socket): void {
  socket.write('', () => socket.destroy());
}

/** Passes on a break as a reset, which only TCP has. */
function reset(socket: Socket): void {
  if (socket.destroyed) return;
  try {
    socket.resetAndDestroy();
  } catch {
    socket.destroy();
  }
}
