/** Pool of connections to one platform; opens spare connections early, so that requests do not wait. */
import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { AnswerHandler, Sender, SenderRequest } from '../../common/platform-http.ts';
import { encodeRequest, RequestConnection, readTogether } from './request-connection.ts';

interface ConnectionsOptions {
  origin: string;
  most: number;
  timeoutMs: number;
  onOpened?(ms: number): void;
  onCrowded?(): void;
}

interface Waiting {
  bytes: string | Buffer;
  handler: AnswerHandler;
}

/** Maximum number of connections that a burst opens; opening thousands would delay its requests. */
const TOGETHER = 256;

const CLOSED = 'the connections were closed';

export class Connections implements Sender {
  readonly #options: ConnectionsOptions;
  readonly #host: string;
  readonly #connect: ReturnType<typeof buildConnector>;
  readonly #open = new Set<RequestConnection>();
  /** Stack of idle connections (not a queue), so that surplus connections stay unused and time out. */
  readonly #idle: RequestConnection[] = [];
  readonly #waiting: Waiting[] = [];
  readonly #patient: Waiting[] = [];
  #opening = 0;
  #closed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const { host, protocol } = new URL(options.origin);
    this.#host = host;
    this.#connect = buildConnector({ allowH2: false, ...(protocol === 'http:' && { onread: readTogether }) });
  }

  send(request: SenderRequest, handler: AnswerHandler, patient = false): void {
    let bytes: string | Buffer;
    try {
      if (this.#closed) throw new Error(CLOSED);
      bytes = encodeRequest(this.#host, request);
    } catch (error) {
      handler.onResponseError(undefined, error as Error);
      return;
    }
    let connection = this.#idle.pop();
    while (connection?.usable === false) connection = this.#idle.pop();
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

  async destroy(): Promise<void> {
    this.#closed = true;
    const error = new Error(CLOSED);
    for (const { handler } of [...this.#waiting.splice(0), ...this.#patient.splice(0)])
      handler.onResponseError(undefined, error);
    await Promise.all([...this.#open].map((connection) => connection.destroy(error)));
  }

  #openAhead(): void {
    const { most } = this.#options;
    const together = Math.min(this.#patient.length, Math.max(0, Math.min(TOGETHER, most) - this.#open.size));
    const spare = Math.min(256, 8 + (this.#open.size >> 2));
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
      if (error === null) {
        this.#options.onOpened?.(performance.now() - began);
        return this.#use(socket);
      }
      // Fails the oldest waiting request; ignores the error if no request waits.
      const waiting = this.#waiting.shift() ?? this.#patient.shift();
      if (waiting === undefined) return;
      waiting.handler.onResponseError(undefined, error);
      this.#openAhead();
    });
  }

  #use(socket: Socket): void {
    const connection: RequestConnection = new RequestConnection(socket, {
      timeoutMs: this.#options.timeoutMs,
      onReady: () => this.#release(connection),
      onGone: () => {
        this.#open.delete(connection);
        const at = this.#idle.indexOf(connection);
        if (at >= 0) this.#idle.splice(at, 1);
        if (this.#waiting.length + this.#patient.length > 0) this.#openAhead();
      },
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
}
