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
/** Milliseconds without data, above every heartbeat interval, after which an event stream counts as dead. */
const SILENCE_MS = 120_000;

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

  /** Resolves once the event stream is open; later events are not missed. Throws ControlError after `withinMs`. */
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

  async #read(): Promise<undefined> {
    const stream = await openEvents(this.#http, this.#cursor === undefined ? {} : { after: this.#cursor });
    this.#stream = stream;
    // Status 410 means that the log no longer holds the cursor, so the next stream starts without a cursor.
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
