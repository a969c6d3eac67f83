/** Opens event streams for a check, and closes them when it ends. */

import { NoAnswer } from '../../../harness/client/errors.ts';
import type { HttpClient } from '../../../harness/client/http.ts';
import { type EventStream, type OpenEvents, openEvents } from '../../../harness/client/sse.ts';
import { defined } from '../../../harness/common/defined.ts';
import { type Device, waitFor } from './check.ts';
import { mediaType } from './requests.ts';
import { Subscription } from './subscription.ts';
import { countOpen, isThrottled, openStreamsOf, retryWhileThrottled } from './throttling.ts';

export { Subscription } from './subscription.ts';

/** The device serves no more streams at once while other checks hold some: this check closes its own and starts again. */
class Throttled extends Error {
  override name = 'Throttled';
}

/**
 * Runs `use`, and closes every stream that it opened. When the device throttles it while other checks hold streams, `use` runs a
 * second time, after other checks that were throttled, and then waits for a stream to become free.
 */
export async function withStreams<T>(t: Device, use: (streams: Streams) => Promise<T>): Promise<T> {
  try {
    return await useAndClose(new Streams(t, false), use);
  } catch (error) {
    if (!(error instanceof Throttled)) throw error;
    return openStreamsOf(t).inTurn(() => useAndClose(new Streams(t, true), use));
  }
}

async function useAndClose<T>(streams: Streams, use: (streams: Streams) => Promise<T>): Promise<T> {
  try {
    return await use(streams);
  } finally {
    await streams.close();
  }
}

/** The event streams of one check. */
export class Streams {
  readonly #t: Device;
  readonly #waitsForOthers: boolean;
  readonly #opened = new Map<EventStream, OpenEvents>();
  #throttled = false;
  #http: HttpClient | undefined;

  constructor(t: Device, waitsForOthers: boolean) {
    this.#t = t;
    this.#waitsForOthers = waitsForOthers;
  }

  /** Opens all further streams through this client: a restart may have moved the agent. */
  use(http: HttpClient): void {
    this.#http = http;
  }

  /** Opens a stream that must be served: 200 and an event stream. */
  async open(options: OpenEvents = {}, http?: HttpClient): Promise<Subscription> {
    const stream = await this.try(options, http);
    await expectServed(this.#t, stream, options);
    return this.follow(stream, http);
  }

  /** Opens a stream beside those that are open; undefined when the device serves no more at once. */
  async openAnother(options: OpenEvents): Promise<Subscription | undefined> {
    const stream = await this.#attempt(options, undefined, this.#count === 0);
    if (isThrottled(stream.status) && this.#count > 0) {
      await stream.close();
      this.#t.note(`no more than ${this.#count} streams are served at once (${stream.status})`);
      return undefined;
    }
    await expectServed(this.#t, stream, options);
    return this.follow(stream);
  }

  /** Subscribes to a stream that `try` opened. It resumes after the last event read, where it was opened with a cursor. */
  follow(stream: EventStream, http?: HttpClient): Subscription {
    const { after, lastEventId, query, headers, types } = this.#opened.get(stream) ?? {};
    return new Subscription(this.#t, stream, async (last) => {
      const cursor = last ?? after ?? lastEventId;
      if (cursor === undefined || query !== undefined) return undefined;
      const again = await this.try({ after: cursor, ...defined({ types, headers }) }, http);
      return again.status === 200 ? again : undefined;
    });
  }

  /** Opens a stream and gives it back whatever its status. */
  try(options: OpenEvents = {}, http?: HttpClient): Promise<EventStream> {
    return this.#attempt(options, http, true);
  }

  async close(): Promise<void> {
    const opened = [...this.#opened.keys()];
    await Promise.all(opened.map((stream) => stream.close()));
    openStreamsOf(this.#t).remove(opened);
  }

  get #count(): number {
    return countOpen(this.#opened.keys());
  }

  #send(http: HttpClient, options: OpenEvents): Promise<EventStream> {
    return waitFor(this.#t, 'stream', (within) => openEvents(http, { within, ...options }));
  }

  /** Unless the stream is `needed`, it is given up at once when the device serves no more. */
  async #attempt(options: OpenEvents, http = this.#http ?? this.#t.http, needed: boolean): Promise<EventStream> {
    if (this.#throttled) throw new Throttled();
    const t: Device = this.#t;
    const all = openStreamsOf(t);
    const othersAreOpen = (): boolean => all.count > this.#count;
    try {
      const stream = await retryWhileThrottled(t, () => this.#send(http, options), {
        // The streams of this check stay open while it waits, so only those of other checks can be closed.
        mayClear: () => needed && ((this.#waitsForOthers && othersAreOpen()) || (all.justClosed && !othersAreOpen())),
        ownDoing: () => this.#count > 0 || (!this.#waitsForOthers && othersAreOpen()),
        discard: (refused) => refused.close(),
      });
      if (isThrottled(stream.status) && needed && !this.#waitsForOthers && othersAreOpen()) {
        this.#throttled = true;
        await stream.close();
        throw new Throttled();
      }
      this.#opened.set(stream, options);
      all.add(stream);
      return stream;
    } catch (error) {
      if (!(error instanceof NoAnswer) || t.signal.aborted) throw error;
      t.must(false, { expected: 'an answer to GET /events', actual: error.message });
      throw error;
    }
  }
}

async function expectServed(t: Device, stream: EventStream, options: OpenEvents): Promise<void> {
  if (stream.status === 200 && mediaType(stream.headers) === 'text/event-stream') return;
  t.must(false, {
    expected: `200 with an event stream for ${describeOpen(options)}`,
    actual: await describeAnswer(t, stream),
  });
}

export async function describeAnswer(t: Device, stream: EventStream): Promise<string> {
  const stays = stream.status === 200;
  const ending = (within: number) => stream.rest({ within, atMost: within, for: 'the end of the answer' });
  if (!stays) await waitFor(t, 'answer', ending).catch(() => '');
  return `${stream.status} ${stream.headers['content-type'] ?? 'without content-type'} ${JSON.stringify(stream.head().slice(0, 300))}`;
}

export function describeOpen(options: OpenEvents): string {
  const parts = [
    ...(options.query === undefined ? [] : [`?${options.query}`]),
    ...(options.after === undefined ? [] : [`after=${options.after}`]),
    ...(options.types === undefined ? [] : [`types=${options.types.join(',')}`]),
    ...(options.lastEventId === undefined ? [] : [`Last-Event-ID: ${options.lastEventId}`]),
  ];
  return parts.length === 0 ? 'GET /events' : `GET /events with ${parts.join(', ')}`;
}
