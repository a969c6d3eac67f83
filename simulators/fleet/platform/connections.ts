/**
 * The connections of a load generator to one platform. Each carries one request at a time, and some are opened ahead of
 * need, so that their number follows the load and no request waits for the answer to another. A request that has to
 * wait is counted.
 */
import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { AnswerHandler, Sender, SenderRequest } from '../../common/platform-http.ts';
import { encodeRequest, RequestConnection, readTogether } from './request-connection.ts';

interface ConnectionsOptions {
  /** Scheme, host and port. */
  origin: string;
  /** Connections at most. */
  most: number;
  /** Milliseconds without a byte of an answer. */
  timeoutMs: number;
  /** Called with the milliseconds that a connection took to open. */
  onOpened?(ms: number): void;
  /** Called when a request has to wait because all connections are in use, and no more may be opened. */
  onCrowded?(): void;
}

interface Waiting {
  bytes: string | Buffer;
  handler: AnswerHandler;
}

/**
 * What is asked for all at once shares so many connections: it wants to be done soon, not to connect thousands of
 * times.
 */
const TOGETHER = 256;
/** Idle connections to have, beside a quarter of those that are open. */
const SPARE = 8;
const MOST_SPARE = 256;

const CLOSED = 'the connections were closed';

export class Connections implements Sender {
  readonly #options: ConnectionsOptions;
  /** Value of the field Host. */
  readonly #host: string;
  readonly #connect: ReturnType<typeof buildConnector>;
  readonly #open = new Set<RequestConnection>();
  /**
   * The next request takes the last one, which was used most recently; the server closes those at the front that stay
   * unused.
   */
  readonly #idle: RequestConnection[] = [];
  readonly #waiting: Waiting[] = [];
  /** Patient requests, behind all others. */
  readonly #patient: Waiting[] = [];
  #opening = 0;
  #closed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const { host, protocol } = new URL(options.origin);
    this.#host = host;
    this.#connect = buildConnector({ allowH2: false, ...(protocol === 'http:' && { onread: readTogether }) });
  }

  /** A `patient` request may wait for a connection; that is not counted. */
  send(request: SenderRequest, handler: AnswerHandler, patient = false): void {
    let bytes: string | Buffer;
    try {
      if (this.#closed) throw new Error(CLOSED);
      bytes = encodeRequest(this.#host, request);
    } catch (error) {
      handler.onResponseError(undefined, error as Error);
      return;
    }
    const connection = this.#takeIdle();
    if (connection !== undefined) {
      connection.send(bytes, handler);
    } else if (patient) {
      this.#patient.push({ bytes, handler });
    } else {
      if (this.#options.most - this.#open.size <= this.#waiting.length) this.#options.onCrowded?.();
      this.#waiting.push({ bytes, handler });
    }
    this.#openAhead();
  }

  /** Cuts every connection; requests under way fail. */
  async destroy(): Promise<void> {
    this.#closed = true;
    const error = new Error(CLOSED);
    for (const { handler } of [...this.#waiting.splice(0), ...this.#patient.splice(0)])
      handler.onResponseError(undefined, error);
    await Promise.all([...this.#open].map((connection) => connection.destroy(error)));
  }

  #takeIdle(): RequestConnection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined || connection.usable) return connection;
    }
  }

  /** Opens what waits and what is to be spare, a few at a time. */
  #openAhead(): void {
    const { most } = this.#options;
    const together = Math.min(this.#patient.length, Math.max(0, Math.min(TOGETHER, most) - this.#open.size));
    const spare = Math.min(MOST_SPARE, SPARE + (this.#open.size >> 2));
    const wanted = this.#waiting.length + Math.max(together, spare - this.#idle.length);
    const missing = Math.min(wanted - this.#opening, most - this.#open.size - this.#opening);
    for (let count = 0; count < missing; count += 1) this.#openOne();
  }

  #openOne(): void {
    if (this.#closed) return;
    const { protocol, hostname, host, port } = new URL(this.#options.origin);
    const began = performance.now();
    this.#opening += 1;
    const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
    this.#connect({ protocol, hostname: bare, host, port }, (error, socket) => {
      this.#opening -= 1;
      if (error !== null) return this.#failOne(error);
      this.#options.onOpened?.(performance.now() - began);
      this.#use(socket);
    });
  }

  /**
   * The oldest request that waits fails. Without one, the connection was opened ahead of need, and its failure is told
   * to nobody.
   */
  #failOne(error: Error): void {
    const waiting = this.#waiting.shift() ?? this.#patient.shift();
    if (waiting === undefined) return;
    waiting.handler.onResponseError(undefined, error);
    this.#openAhead();
  }

  #use(socket: Socket): void {
    const connection: RequestConnection = new RequestConnection(socket, {
      timeoutMs: this.#options.timeoutMs,
      onReady: () => this.#release(connection),
      onGone: () => this.#drop(connection),
    });
    this.#open.add(connection);
    if (this.#closed) void connection.destroy(new Error(CLOSED));
    else this.#release(connection);
  }

  #release(connection: RequestConnection): void {
    const next = this.#waiting.shift() ?? this.#patient.shift();
    if (next === undefined) this.#idle.push(connection);
    else connection.send(next.bytes, next.handler);
  }

  #drop(connection: RequestConnection): void {
    this.#open.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    if (this.#waiting.length + this.#patient.length > 0) this.#openAhead();
  }
}
