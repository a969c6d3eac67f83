/** Follows a device's event stream while control drives the device by other means; survives restarts of the agent. */
import { NoAnswer, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import { type EventStream, openEvents, StreamEnded, StreamTimeout } from '../../client/sse.ts';
import { poll, pollWithin } from '../../common/waiting.ts';
import { ControlError, eventIn } from './control.ts';

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
  /** Why the stream is not open, as far as it is known. */
  #trouble = 'the agent has not answered yet';
  /** A fault that connecting again cannot mend. */
  #fault: { error: unknown } | undefined;
  #following: Promise<void> | undefined;

  constructor(http: HttpClient) {
    this.#http = http.with({ signal: this.#over.signal });
  }

  /**
   * Resolves when the stream is open, and then misses nothing that happens later. Throws ControlError when it does not
   * open in time.
   */
  async start(withinMs: number, signal?: AbortSignal): Promise<void> {
    this.#following ??= this.#follow();
    const opened = await this.#when('the event stream to open', () => this.#opened || undefined, withinMs, signal);
    if (opened === undefined)
      throw new ControlError(
        `control: the device's event stream, which shows what was published, did not open within ` +
          `${withinMs / 1000} s: ${this.#trouble}`,
      );
  }

  /** Number of events seen so far; a mark for `since`. */
  get mark(): number {
    return this.#events.length;
  }

  since(mark: number): WatchedEvent[] {
    return this.#events.slice(mark);
  }

  /** The first event after `mark` that fits; undefined when none comes within that many milliseconds. */
  until(
    fits: (event: WatchedEvent) => boolean,
    mark: number,
    withinMs: number,
    signal?: AbortSignal,
  ): Promise<WatchedEvent | undefined> {
    return this.#when('an event', () => this.since(mark).find(fits), withinMs, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#stream?.close();
    await this.#following;
  }

  /**
   * Connects again from the cursor whenever the connection is lost, until the watch is over. Any other error ends it.
   */
  async #follow(): Promise<void> {
    const read = async (): Promise<undefined> => {
      try {
        await this.#read();
      } catch (error) {
        await this.#stream?.close().catch(() => {});
        if (!isLost(error)) throw error;
        this.#trouble = error.message;
      }
    };
    const { signal } = this.#over;
    const options = { timeoutMs: Number.POSITIVE_INFINITY, firstPauseMs: RECONNECT_MS, signal };
    await poll('the end of the watch', read, options).catch((error: unknown) => {
      if (!signal.aborted) this.#fault = { error };
    });
  }

  /** Reads one connection until it ends, which it does by throwing. */
  async #read(): Promise<undefined> {
    const stream = await openEvents(this.#http, this.#cursor === undefined ? {} : { after: this.#cursor });
    this.#stream = stream;
    // The log was compacted past the cursor: events were missed, and the next connection begins with new ones.
    if (stream.status === 410) this.#cursor = undefined;
    if (stream.status !== 200) throw new StreamEnded(`GET /events answered ${stream.status}`);
    this.#opened = true;
    for (;;) {
      const event = parse((await stream.next({ within: SILENCE_MS, for: 'an event' })).data);
      if (event === undefined) continue;
      this.#cursor = event.id;
      this.#events.push(event);
    }
  }

  #when<T>(
    what: string,
    look: () => T | undefined,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<T | undefined> {
    const lookAgain = (): T | undefined => {
      if (this.#fault !== undefined) throw this.#fault.error;
      return look();
    };
    return pollWithin(what, lookAgain, { timeoutMs, firstPauseMs: LOOK_MS, signal });
  }
}

/** Whether the stream broke off or could not be reached, which a restart of the agent explains. */
const isLost = (error: unknown): error is Error =>
  error instanceof Unreachable ||
  error instanceof NoAnswer ||
  error instanceof StreamEnded ||
  error instanceof StreamTimeout;

function parse(text: string | undefined): WatchedEvent | undefined {
  const event = eventIn(text ?? '');
  if (typeof event?.['type'] !== 'string') return undefined;
  const { deployment_id: deploymentId } = Object(event['data']) as { deployment_id?: unknown };
  return {
    id: event.id,
    type: event['type'],
    deploymentId: typeof deploymentId === 'string' ? deploymentId : undefined,
  };
}
