/** Follows a device's event stream across restarts of the agent. */
import { NoAnswer, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import { type EventStream, openEvents, StreamEnded, StreamTimeout } from '../../client/sse.ts';
import { poll, pollWithin } from '../../common/waiting.ts';
import { ControlError, eventIn } from './control.ts';

export interface WatchedEvent {
  id: number | bigint;
  type: string;
  deploymentId: string | undefined;
}

const RECONNECT_MS = 100;
const LOOK_MS = 5;
/** Milliseconds without data, above every heartbeat interval, after which a stream counts as dead. */
const SILENCE_MS = 120_000;
const LOST = [Unreachable, NoAnswer, StreamEnded, StreamTimeout];

export class EventWatch implements AsyncDisposable {
  readonly #http: HttpClient;
  readonly #over = new AbortController();
  readonly #events: WatchedEvent[] = [];
  #stream: EventStream | undefined;
  #cursor: number | bigint | undefined;
  #opened = false;
  #trouble = 'the agent has not answered yet';
  #fault: { error: unknown } | undefined;
  #following: Promise<void> | undefined;

  constructor(http: HttpClient) {
    this.#http = http.with({ signal: this.#over.signal });
  }

  /** Resolves once the stream is open, so that later events are not missed. Throws ControlError after `withinMs`. */
  async start(withinMs: number, signal?: AbortSignal): Promise<void> {
    this.#following ??= this.#follow();
    const opened = await this.#when('the event stream to open', () => this.#opened || undefined, withinMs, signal);
    if (opened === undefined)
      throw new ControlError(
        `control: the device's event stream, which shows what was published, did not open within ` +
          `${withinMs / 1000} s: ${this.#trouble}`,
      );
  }

  get mark(): number {
    return this.#events.length;
  }

  since(mark: number): WatchedEvent[] {
    return this.#events.slice(mark);
  }

  until(fits: (event: WatchedEvent) => boolean, mark: number, withinMs: number, signal?: AbortSignal) {
    return this.#when('an event', () => this.since(mark).find(fits), withinMs, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#stream?.close();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const read = (): Promise<undefined> =>
      this.#read().catch(async (error: unknown) => {
        await this.#stream?.close().catch(() => {});
        if (!LOST.some((kind) => error instanceof kind)) throw error;
        this.#trouble = (error as Error).message;
        return undefined;
      });
    const { signal } = this.#over;
    const options = { timeoutMs: Number.POSITIVE_INFINITY, firstPauseMs: RECONNECT_MS, signal };
    await poll('the end of the watch', read, options).catch((error: unknown) => {
      if (!signal.aborted) this.#fault = { error };
    });
  }

  async #read(): Promise<undefined> {
    const stream = await openEvents(this.#http, this.#cursor === undefined ? {} : { after: this.#cursor });
    this.#stream = stream;
    // Status 410: the log no longer holds the cursor, so the next stream starts without a cursor.
    if (stream.status === 410) this.#cursor = undefined;
    if (stream.status !== 200) throw new StreamEnded(`GET /events answered ${stream.status}`);
    this.#opened = true;
    for (;;) {
      const event = eventIn((await stream.next({ within: SILENCE_MS, for: 'an event' })).data ?? '');
      if (typeof event?.['type'] !== 'string') continue;
      const { deployment_id: id } = Object(event['data']) as { deployment_id?: unknown };
      const deploymentId = typeof id === 'string' ? id : undefined;
      this.#cursor = event.id;
      this.#events.push({ id: event.id, type: event['type'], deploymentId });
    }
  }

  #when<T>(what: string, look: () => T | undefined, timeoutMs: number, signal: AbortSignal | undefined) {
    const lookAgain = (): T | undefined => {
      if (this.#fault !== undefined) throw this.#fault.error;
      return look();
    };
    return pollWithin(what, lookAgain, { timeoutMs, firstPauseMs: LOOK_MS, signal });
  }
}
