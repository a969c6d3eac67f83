/** Reads an event stream through the `eventsource` package, as real clients do. */
import { Readable } from 'node:stream';
import { EventSource, type FetchLike } from 'eventsource';
import { Changes } from '../common/waiting.ts';
import { decoded } from './body.ts';
import { NoAnswer, Unfinished, Unreachable } from './errors.ts';
import type { HttpClient, HttpRequest, OpenResponse } from './http.ts';
import { StreamEnded, StreamTimeout, type StreamWait, untilReady } from './sse.ts';

export interface ClientMessage {
  type: string;
  lastEventId: string;
  data: string;
  connection: number;
}

export interface OpenClient {
  path: string;
  types: readonly string[];
  /** Milliseconds before a reconnection, whatever `retry` the server sends. Default 20, to keep checks fast. */
  reconnectMs?: number;
  /** Cursor sent with each connection until the first message. */
  lastEventId?: string;
  open?: (request: HttpRequest) => Promise<OpenResponse>;
}

/** Bytes above which the client closes, to bound memory. */
const MOST_BYTES = 16 * 1024 * 1024;
const MESSAGE_BYTES = 500;

export class EventSourceClient {
  readonly messages: ClientMessage[] = [];
  readonly cursors: (string | undefined)[] = [];
  readonly errors: string[] = [];
  readonly #source: EventSource;
  readonly #changes = new Changes();
  #open: OpenResponse | undefined;
  #mayConnect: Promise<void> | undefined;
  #fault: { error: unknown } | undefined;
  #bytes = 0;

  constructor(http: HttpClient, options: OpenClient) {
    const { open = (request) => http.open(request) } = options;
    const fetch: FetchLike = async (url, init) => {
      await this.#mayConnect;
      const target = new URL(url);
      const { Accept: accept, ...rest } = init.headers;
      const cursor = rest['Last-Event-ID'] ?? (this.messages.length === 0 ? options.lastEventId : undefined);
      this.cursors.push(cursor);
      const answer = await open({
        path: target.pathname + target.search,
        absolute: true,
        headers: { accept, ...rest, 'Last-Event-ID': cursor },
      }).catch((error: unknown) => {
        if (!(error instanceof NoAnswer || error instanceof Unreachable)) this.#fault = { error };
        throw error;
      });
      this.#open = answer;
      const signal = init.signal as AbortSignal;
      signal.addEventListener('abort', () => answer.abort(), { once: true });
      return {
        status: answer.status,
        redirected: false,
        url: target.href,
        headers: { get: (name) => answer.headers[name.toLowerCase()] ?? null },
        body: Readable.toWeb(
          withRetry(answer, options.reconnectMs ?? 20, (bytes) => this.#count(bytes)),
        ) as unknown as ReadableStream<Uint8Array>,
      };
    };
    this.#source = new EventSource(`${http.endpoint.origin}${http.basePath}${options.path}`, { fetch });
    for (const type of new Set(['message', ...options.types])) {
      this.#source.addEventListener(type, (event) => {
        const { data, lastEventId } = event as unknown as { data: string; lastEventId: string };
        this.messages.push({ type: event.type, lastEventId, data, connection: this.cursors.length });
        this.#count(MESSAGE_BYTES);
        this.#changes.announce();
      });
    }
    // An open EventSource would keep reconnecting after the check.
    http.signal?.addEventListener('abort', () => this.close(), { once: true });
    if (http.signal?.aborted === true) this.close();
    this.#source.addEventListener('error', (event) => {
      this.errors.push((event as { message?: string }).message ?? 'the connection ended');
      this.#changes.announce();
    });
  }

  get closed(): boolean {
    return this.#source.readyState === this.#source.CLOSED;
  }

  get connected(): boolean {
    return this.#source.readyState === this.#source.OPEN;
  }

  /**
   * Finds a past or future message; each message restarts the time limit. Throws StreamTimeout, Unfinished (above
   * 16 MiB), or the error of `open`.
   */
  async until(fits: (message: ClientMessage) => boolean, wait: StreamWait): Promise<ClientMessage> {
    const { messages, errors } = this;
    try {
      const find = (): ClientMessage | undefined => {
        if (this.#fault !== undefined) throw this.#fault.error;
        return messages.find(fits);
      };
      return await untilReady(find, wait, {
        progress: () => messages.length,
        changes: this.#changes,
        ended: () => (this.closed ? 'the client gave up' : undefined),
        describe: (reason) =>
          `waited for ${wait.for}: ${reason} (${messages.length} ` +
          `messages${errors.length === 0 ? '' : `; ${errors.at(-1)}`})`,
      });
    } catch (error) {
      if (!(error instanceof StreamEnded)) throw error;
      // Muster, not the server, closed the stream.
      throw this.#bytes > MOST_BYTES ? new Unfinished(error.message) : new StreamTimeout(error.message);
    }
  }

  /** Breaks the connection; the client reconnects once `meanwhile` settles. Throws the error of `meanwhile`. */
  async cut(meanwhile: () => Promise<unknown> = async () => {}): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#mayConnect = promise;
    this.#open?.abort();
    try {
      await meanwhile();
    } finally {
      resolve();
    }
  }

  close(): void {
    this.#source.close();
    this.#open?.abort();
    this.#changes.announce();
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= MOST_BYTES || this.closed) return;
    this.errors.push(`more than ${MOST_BYTES} bytes came`);
    this.close();
  }
}

/** Appends a colon, which ends a torn line, and a `retry` line, which overrides the server's; dispatches no event. */
function withRetry(answer: OpenResponse, reconnectMs: number, count: (bytes: number) => void): Readable {
  return Readable.from(
    (async function* () {
      try {
        for await (const chunk of decoded(answer.body, answer.headers['content-encoding']) as AsyncIterable<Buffer>) {
          count(chunk.length);
          yield chunk;
        }
      } catch {
        // EventSource reconnects after a broken connection.
      }
      yield Buffer.from(`:\nretry: ${reconnectMs}\n`);
    })(),
  );
}
