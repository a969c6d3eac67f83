/** The event stream as a real client sees it: the `eventsource` package over the transport of the target. */
import { Readable } from 'node:stream';
import { EventSource, type FetchLike } from 'eventsource';
import { Changes } from '../common/waiting.ts';
import type { HttpClient, OpenResponse } from './http.ts';
import { StreamEnded, StreamTimeout, type StreamWait, untilReady } from './stream-wait.ts';

/** An event as the client dispatched it. */
export interface ClientMessage {
  type: string;
  lastEventId: string;
  data: string;
  /** Number of the connection on which it came, from 1. */
  connection: number;
}

/** What the client connects to, and how. */
export interface OpenClient {
  /** Below the base path, with its query: `/events?after=3`. */
  path: string;
  /** Types to listen for; a client sees no others. */
  types: readonly string[];
  /**
   * Milliseconds until the client reconnects, unless the server says otherwise with `retry`. The package's own 3 s
   * would hold up a check.
   */
  reconnectMs?: number;
}

/** More than a check causes: the client stops before a server that sends more fills the memory. */
const MOST_BYTES = 16 * 1024 * 1024;
const MESSAGE_BYTES = 500;

/** Drives one EventSource. It reconnects by itself until `close()`, or until the signal of its HTTP client aborts. */
export class EventSourceClient {
  readonly messages: ClientMessage[] = [];
  /** `Last-Event-ID` of every request it made; undefined where it sent none. */
  readonly cursors: (string | undefined)[] = [];
  /** Errors that the client raised, in its own words; an ended connection is one. */
  readonly errors: string[] = [];
  readonly #source: EventSource;
  readonly #changes = new Changes();
  #open: OpenResponse | undefined;
  /** The client may connect once it has settled. */
  #mayConnect: Promise<void> | undefined;
  /** Bytes that came on all connections, and what the messages take beside them. */
  #bytes = 0;

  constructor(http: HttpClient, options: OpenClient) {
    const fetch: FetchLike = async (url, init) => {
      await this.#mayConnect;
      const target = new URL(url);
      const { Accept: accept, ...rest } = init.headers;
      this.cursors.push(rest['Last-Event-ID']);
      const answer = await http.open({
        path: target.pathname + target.search,
        absolute: true,
        headers: { accept, ...rest },
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
    // It would go on to reconnect after the check is over.
    http.signal?.addEventListener('abort', () => this.close(), { once: true });
    if (http.signal?.aborted === true) this.close();
    this.#source.addEventListener('error', (event) => {
      this.errors.push((event as { message?: string }).message ?? 'the connection ended');
      this.#changes.announce();
    });
  }

  /** Whether the client has given up, which it does when an answer is not an event stream. */
  get closed(): boolean {
    return this.#source.readyState === this.#source.CLOSED;
  }

  /**
   * Resolves when a message fits, whether it has come already or not. The time starts again with each message. Throws
   * StreamTimeout.
   */
  async until(fits: (message: ClientMessage) => boolean, wait: StreamWait): Promise<ClientMessage> {
    const { messages, errors } = this;
    try {
      return await untilReady(() => messages.find(fits), wait, {
        progress: () => messages.length,
        changes: this.#changes,
        ended: () => (this.closed ? 'the client gave up' : undefined),
        describe: (reason) =>
          `waited for ${wait.for}: ${reason} (${messages.length} ` +
          `messages${errors.length === 0 ? '' : `; ${errors.at(-1)}`})`,
      });
    } catch (error) {
      throw error instanceof StreamEnded ? new StreamTimeout(error.message) : error;
    }
  }

  /**
   * Breaks the connection under the client, as a restart of the agent would. It reconnects by itself, when `meanwhile`
   * has ended. Throws what that throws.
   */
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

  /** Ends the client and its connection. */
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

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** Puts a `retry` block before the body, and counts its bytes. A later one from the server still wins. */
function withRetry(answer: OpenResponse, reconnectMs: number, count: (bytes: number) => void): Readable {
  const block = Buffer.from(`retry: ${reconnectMs}\n\n`);
  return Readable.from(
    (async function* () {
      // What may still become a byte order mark, which counts only where it stands first.
      let mark: Buffer | undefined = Buffer.alloc(0);
      try {
        for await (const chunk of answer.body as AsyncIterable<Buffer>) {
          count(chunk.length);
          if (mark === undefined) {
            yield chunk;
            continue;
          }
          const begun: Buffer = Buffer.concat([mark, chunk]);
          const isMark = begun.subarray(0, BOM.length).equals(BOM);
          mark = !isMark && BOM.subarray(0, begun.length).equals(begun) ? begun : undefined;
          if (mark !== undefined) continue;
          yield isMark ? Buffer.concat([BOM, block, begun.subarray(BOM.length)]) : Buffer.concat([block, begun]);
        }
      } catch {
        // A broken connection ends the body; the client takes it from there.
      }
      // Nothing but a part of a mark: no event, and still the time to come back after.
      if (mark !== undefined) yield block;
    })(),
    { objectMode: true },
  );
}
