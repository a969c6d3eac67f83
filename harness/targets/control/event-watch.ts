/** Follows a device's event stream across restarts of the agent. */
import { NoAnswer, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import { type EventStream, openEvents, StreamEnded, StreamTimeout } from '../../client/sse.ts';
import { defined } from '../../common/defined.ts';
import { poll, pollWithin } from '../../common/waiting.ts';
import { ControlError, eventIn } from './control.ts';

export interface WatchedEvent {
  id: number | bigint;
  type: string;
  deploymentId: string | undefined;
  data: Readonly<Record<string, unknown>>;
}

export class EventWatch implements AsyncDisposable {
  readonly #http: HttpClient;
  readonly #over = new AbortController();
  readonly #events: WatchedEvent[] = [];
  #stream: EventStream | undefined;
  #cursor: number | bigint | undefined;
  #opened = false;
  /** Status that refused the event stream; 410 stays after a success, because events before that stream are unknown. */
  refusalStatus: number | undefined;
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
    // Closes the stream before the abort, which the evidence would show as a broken stream.
    const closed = this.#stream?.close();
    this.#over.abort();
    await closed;
    await this.#following;
  }

  async #follow(): Promise<void> {
    const read = (): Promise<undefined> =>
      this.#read().catch(async (error: unknown) => {
        await this.#stream?.close().catch(() => {});
        if (![Unreachable, NoAnswer, StreamEnded, StreamTimeout].some((kind) => error instanceof kind)) throw error;
        this.#trouble = (error as Error).message;
        return undefined;
      });
    const { signal } = this.#over;
    const options = { timeoutMs: Number.POSITIVE_INFINITY, firstPauseMs: 100, signal };
    await poll('the end of the watch', read, options).catch((error: unknown) => {
      if (!signal.aborted) this.#fault = { error };
    });
  }

  async #read(): Promise<undefined> {
    // Connects first, because requests to an agent that is down would displace all others in the evidence.
    if (this.#opened) (await this.#http.connect()).destroy();
    const stream = await openEvents(this.#http, defined({ after: this.#cursor }));
    this.#stream = stream;
    if (this.refusalStatus !== 410) this.refusalStatus = stream.status === 200 ? undefined : stream.status;
    // Status 410: the log no longer holds the cursor, so the next stream starts without a cursor.
    if (stream.status === 410) this.#cursor = undefined;
    if (stream.status !== 200) throw new StreamEnded(`GET /events answered ${stream.status}`);
    this.#opened = true;
    // Sets a cursor before the first event, so that a reconnection replays events that came between the streams.
    this.#cursor ??= 0;
    for (;;) {
      // A stream without an event for 120 s is opened anew, because it may be dead; heartbeats do not count.
      const event = eventIn((await stream.next({ within: 120_000, for: 'an event' })).data ?? '');
      if (typeof event?.['type'] !== 'string') continue;
      const data = Object(event['data']) as Record<string, unknown>;
      const { deployment_id: id } = data;
      const deploymentId = typeof id === 'string' ? id : undefined;
      this.#cursor = event.id;
      this.#events.push({ id: event.id, type: event['type'], deploymentId, data });
    }
  }

  #when<T>(what: string, look: () => T | undefined, timeoutMs: number, signal: AbortSignal | undefined) {
    const lookAgain = (): T | undefined => {
      if (this.#fault !== undefined) throw this.#fault.error;
      return look();
    };
    return pollWithin(what, lookAgain, { timeoutMs, firstPauseMs: 5, signal });
  }
}
