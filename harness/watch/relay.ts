/**
 * Stands between clients and a server, and forwards every byte as it came, in both directions. A tap gets a look at the
 * bytes. It can neither change nor hold up anything: a fault of it ends the looking, and never the traffic.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { limitIn, notConnected } from '../client/errors.ts';
import { tls } from '../common/node-tls.ts';
import { isTorn, minded } from './tls-end.ts';

/** Who sent something. */
export type Side = 'client' | 'server';

/** How a side came to its end: it sends nothing more, or its connection broke. */
export type Ending = 'end' | 'cut';

/** What looks at the traffic. `piece` is lent: who wants to keep it copies it. */
export interface Tap {
  opened(connection: number): void;
  bytes(connection: number, from: Side, piece: Buffer): void;
  ended(connection: number, from: Side, how: Ending): void;
  /** No connection to the server could be made. */
  refused(connection: number, why: string): void;
}

/** A unix socket, or a port. */
export type Place = { readonly path: string } | { readonly host: string; readonly port: number };

/** Where the server is. */
export interface Upstream {
  readonly place: Place;
  /** TLS, with certificate authorities (PEM) beside those of the system, and the name that its certificate has. */
  readonly tls?: { readonly ca?: string; readonly servername?: string };
}

export interface RelayOptions {
  listen: Place;
  /** TLS for clients, PEM. */
  tls?: { readonly cert: string; readonly key: string };
  /** Asked for each connection: an agent may come back at another port. Throws where none is known. */
  upstream(): Upstream;
  tap: Tap;
  /** Told once what the tap threw; from then on it is not called. */
  faulty(error: unknown): void;
  /** Told of each connection to the server that could not be made, and of each that was. */
  outages?: {
    refused(why: string): void;
    reached(): void;
    /** Of a TLS handshake of a client that failed. */
    handshakeFailed?(why: string): void;
  };
}

/** Many clients may come at once. */
const BACKLOG = 4096;
/**
 * Connections that only their client keeps, as a pool does with those that its server has ended. Most such servers have
 * closed: what still comes is answered by a reset, as it is for a relay that has closed. One that has not may still
 * read, so the relay keeps some, those first whose client has sent something lately.
 */
const MOST_LINGERING = 32;

export class Relay implements AsyncDisposable {
  readonly #server: Server;
  readonly #options: RelayOptions;
  readonly #sockets = new Set<Socket>();
  /** What clients have opened, also where their handshake is not over yet. */
  readonly #accepted = new Set<Socket>();
  /** Clients that know that their server has ended, with its side; the one that was silent longest first. */
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

  /** Resolves when clients can come. Rejects with the error of the system. */
  static async open(options: RelayOptions): Promise<Relay> {
    const relay = new Relay(options);
    await new Promise<void>((resolve, reject) => {
      relay.#server.once('error', reject);
      relay.#server.listen({ ...options.listen, backlog: BACKLOG }, resolve);
    });
    // A connection that cannot be accepted, for want of descriptors, costs no other one.
    relay.#server.on('error', () => {});
    return relay;
  }

  /** The port that was given, where 0 was asked for; 0 on a unix socket. */
  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  /** Connections that are open, each of both sides. */
  get open(): number {
    // One side may be closed already.
    return Math.ceil(this.#sockets.size / 2);
  }

  /** Cuts all connections. */
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
    // What is on its way to a server still arrives.
    const [silent] = [...this.#lingering].filter(([, its]) => its.writableLength === 0);
    if (silent === undefined) return;
    const [longest, its] = silent;
    this.#lingering.delete(longest);
    // The server first: whoever still reads there sees an end, and no reset.
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
      // What the other side no longer takes is read all the same, as by a server that has gone.
      if (sink.writable && !sink.write(piece)) source.pause();
      this.#look((tap) => tap.bytes(connection, from, piece));
    });
    sink.on('drain', () => source.resume());
    source.once('end', () => {
      const isCut = isTorn(source);
      ended(isCut ? 'cut' : 'end');
      // Without TLS, an end says nothing of the kind.
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
      // Who is told may fail; the next client comes all the same.
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

/** A limit of this machine is no doing of the server. Only of an attempt to connect Node names the address. */
const whyOf = (error: Error): string =>
  limitIn(error) ?? ('syscall' in error && error.syscall === 'connect' ? error.message : notConnected(error).message);

function dial({ place, tls: secure }: Upstream): Socket {
  const half = { ...place, allowHalfOpen: true };
  if (secure === undefined) return connect(half);
  const options: ConnectionOptions = { ...half, ...secure, ALPNProtocols: ['http/1.1'] };
  return minded(tls.connect(options));
}

/** What it was sent arrives, and then it ends without a word of TLS. */
function tear(socket: Socket): void {
  socket.write('', () => socket.destroy());
}

/** The other side broke off, and this one is to see it. Only TCP knows a reset. */
function reset(socket: Socket): void {
  if (socket.destroyed) return;
  try {
    socket.resetAndDestroy();
  } catch {
    socket.destroy();
  }
}
