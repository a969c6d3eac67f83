/** Follows a device's event stream while control drives the device by other means; survives restarts of the agent. */
import type { HttpClient } from '../../client/http.ts';
import { type EventStream, openEvents } from '../../client/sse.ts';
import { poll, pollWithin } from '../../common/waiting.ts';
import { parseExact } from './control.ts';

/** An event as far as control reads it. */
export interface WatchedEvent {
  id: number | bigint;
  type: string;
  deploymentId: string | undefined;
}

const RECONNECT_MS = 100;
const LOOK_MS = 5;
/** A stream that is silent for longer than any heartbeat interval is dead. */
const SILENCE_MS = 120_000;

/** Collects the events of one device from `start` on. Disposing of it ends the stream. */
export class EventWatch implements AsyncDisposable {
  readonly #http: HttpClient;
  readonly #over = new AbortController();
  readonly #events: WatchedEvent[] = [];
  #stream: EventStream | undefined;
  #cursor: number | bigint | undefined;
  #opened = false;
  #following: Promise<void> | undefined;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Resolves when the stream is open, and then misses nothing that happens later; or after `withinMs`. */
  async start(withinMs: number): Promise<void> {
    this.#following ??= this.#follow();
    await this.#when('the event stream to open', () => this.#opened || undefined, withinMs);
  }

  /** Number of events seen so far; a mark for `since`. */
  get mark(): number {
    return this.#events.length;
  }

  since(mark: number): WatchedEvent[] {
    return this.#events.slice(mark);
  }

  /** The first event after `mark` that fits; undefined when none comes within that many milliseconds. */
  until(fits: (event: WatchedEvent) => boolean, mark: number, withinMs: number): Promise<WatchedEvent | undefined> {
    return this.#when('an event', () => this.since(mark).find(fits), withinMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#stream?.close();
    await this.#following;
  }

  /** Connects again from the cursor whenever the stream ends, until the watch is over. */
  async #follow(): Promise<void> {
    const read = () => this.#read().catch(() => this.#stream?.close().catch(() => {}));
    const { signal } = this.#over;
    const options = { timeoutMs: Number.POSITIVE_INFINITY, firstPauseMs: RECONNECT_MS, signal };
    await poll('the end of the watch', read, options).catch(() => {});
  }

  /** Reads one connection until it ends, which it does by throwing. */
  async #read(): Promise<undefined> {
    const stream = await openEvents(this.#http, this.#cursor === undefined ? {} : { after: this.#cursor });
    this.#stream = stream;
    // The log was compacted past the cursor: events were missed, and the next connection begins with new ones.
    if (stream.status === 410) this.#cursor = undefined;
    if (stream.status !== 200) throw new Error(`the event stream answered ${stream.status}`);
    this.#opened = true;
    for (;;) {
      const event = parse((await stream.next({ within: SILENCE_MS, for: 'an event' })).data);
      if (event === undefined) continue;
      this.#cursor = event.id;
      this.#events.push(event);
    }
  }

  #when<T>(what: string, look: () => T | undefined, timeoutMs: number): Promise<T | undefined> {
    return pollWithin(what, look, { timeoutMs, firstPauseMs: LOOK_MS });
  }
}

function parse(text: string | undefined): WatchedEvent | undefined {
  if (text === undefined) return undefined;
  try {
    const { id, type, data } = parseExact(text) as { id?: unknown; type?: unknown; data?: { deployment_id?: unknown } };
    if ((typeof id !== 'number' && typeof id !== 'bigint') || typeof type !== 'string') return undefined;
    return { id, type, deploymentId: typeof data?.deployment_id === 'string' ? data.deployment_id : undefined };
  } catch {
    return undefined;
  }
}
