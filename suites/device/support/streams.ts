import { NoAnswerInTime } from '../../../harness/client/errors.ts';
import { EventSourceClient } from '../../../harness/client/eventsource.ts';
import type { HttpClient, OpenResponse } from '../../../harness/client/http.ts';
import { type EventStream, type OpenEvents, openEvents } from '../../../harness/client/sse.ts';
import { defined } from '../../../harness/common/defined.ts';
import { Fact } from '../../../harness/runner/session.ts';
import { type Device, inTime } from './check.ts';
import { allowing, CONTENT_TYPE_ODD } from './deviations.ts';
import {
  countOpen,
  type HeldStream,
  isEventStream,
  isThrottled,
  mediaType,
  noticedMs,
  OPEN_STREAMS,
  servesFew,
  unanswered,
  whileThrottled,
} from './requests.ts';
import { endIfGone, observeCursor } from './retention.ts';
import { Subscription } from './subscription.ts';

/** Thrown if other checks hold all streams; the check then closes its own and starts again. */
class Throttled extends Error {}

export async function withStreams<T>(
  t: Device,
  use: (streams: Streams) => Promise<T>,
  waitsForOthers = false,
): Promise<T> {
  try {
    await using streams = new Streams(t, waitsForOthers);
    return await use(streams);
  } catch (error) {
    if (waitsForOthers || !(error instanceof Throttled)) throw error;
    return t.session.get(OPEN_STREAMS).inTurn(() => withStreams(t, use, true));
  }
}

export class Streams {
  readonly #t: Device;
  readonly #waitsForOthers: boolean;
  readonly #opened = new Map<HeldStream, OpenEvents>();
  #throttled = false;
  #lacksOne = false;
  makeRoom: () => Promise<boolean> = async () => false;

  constructor(t: Device, waitsForOthers: boolean) {
    this.#t = t;
    this.#waitsForOthers = waitsForOthers;
  }

  async open(options: OpenEvents = {}): Promise<Subscription> {
    const stream = await this.try(options);
    await expectServed(this.#t, stream, options);
    return this.follow(stream);
  }

  async openAnother(options: OpenEvents): Promise<Subscription | undefined> {
    const stream = await this.tryAnother(options);
    if (stream === undefined) this.#lacksOne = true;
    else await expectServed(this.#t, stream, options);
    return stream && this.follow(stream);
  }

  follow(stream: EventStream, http?: HttpClient): Subscription {
    const { after, lastEventId, query, headers, types } = this.#opened.get(stream) ?? {};
    return new Subscription(this.#t, stream, async (last) => {
      const cursor = last ?? after ?? lastEventId;
      if (cursor === undefined || query !== undefined) return undefined;
      const opening = { after: cursor, ...defined({ types, headers }) };
      let again = await this.try(opening, http);
      while (isThrottled(again) && (await this.makeRoom())) {
        await again.close();
        again = await this.try(opening, http);
      }
      if (again.status === 410) endIfGone(this.#t, opening);
      return again.status === 200 ? again : undefined;
    });
  }

  async try(
    options: OpenEvents = {},
    http = this.#t.http,
    expected = `an answer to ${describeOpen(options)}`,
    needed = true,
  ): Promise<EventStream> {
    const t: Device = this.#t;
    const send = (within: number): Promise<EventStream> => openEvents(http, { within, ...allowing(t, options) });
    try {
      return await this.#served(options, needed, () => inTime(t, 'stream', send));
    } catch (error) {
      throw unanswered(t, expected, error);
    }
  }

  async tryAnother(options: OpenEvents, http?: HttpClient): Promise<EventStream | undefined> {
    const stream = await this.try(options, http, undefined, this.#count === 0);
    if (!isThrottled(stream) || this.#count === 0) return stream;
    await stream.close();
    return undefined;
  }

  /** Client of the package `eventsource`, whose connections count as streams of the check. */
  connect(types: readonly string[], lastEventId: bigint): EventSourceClient {
    const { http } = this.#t;
    return new EventSourceClient(http, {
      path: '/events',
      types,
      lastEventId: String(lastEventId),
      open: async (request) => (await this.#served({}, true, async () => held(await http.open(request)))).response,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = [...this.#opened.keys()];
    await Promise.all(opened.map((stream) => stream.close()));
    const all = this.#t.session.get(OPEN_STREAMS);
    all.remove(opened);
    // Tells the number at the end, because other streams may be served after the one that is refused.
    if (this.#lacksOne) this.#t.note(servesFew(all.most));
  }

  get #count(): number {
    return countOpen(this.#opened.keys());
  }

  async #served<S extends HeldStream>(options: OpenEvents, needed: boolean, send: () => Promise<S>): Promise<S> {
    if (this.#throttled) throw new Throttled();
    const t: Device = this.#t;
    const all = t.session.get(OPEN_STREAMS);
    const othersAreOpen = (): boolean => all.count > this.#count;
    const lateMs = (): number =>
      t.session.get(NOTICES_LATE) && this.#count === 0 ? HEARTBEATS_LATE * t.heartbeatSeconds * 1000 : 0;
    const isDueAgain = whileThrottled<S>(t, {
      // Only the end of a stream of another check clears the throttling, because this check keeps its own open.
      mayClear: () =>
        needed && (othersAreOpen() ? this.#waitsForOthers : all.justClosed(Math.max(noticedMs(t), lateMs()))),
      cannotClear: () => this.#count > 0 || (!this.#waitsForOthers && othersAreOpen()),
      discard: (refused) => refused.close(),
      quota: t.session.gate('streams'),
    });
    let stream: S;
    do {
      const { count } = all;
      stream = await send().catch((error: unknown) => {
        // Takes silence as a refusal: a device that serves no more streams may let one wait until another ends.
        const isFull = all.count === all.most || (count === all.most && all.justClosed(noticedMs(t)));
        if (!(error instanceof NoAnswerInTime) || count === 0 || !isFull) throw error;
        return WAITING as S;
      });
      all.isScarce ||= isThrottled(stream);
    } while (await isDueAgain(stream));
    if (isThrottled(stream)) t.session.isSmall = true;
    if (isThrottled(stream) && needed && all.count === 0) t.session.set(NOTICES_LATE, false);
    if (isThrottled(stream) && needed && othersAreOpen()) {
      await stream.close();
      if (this.#waitsForOthers) t.undecided(`other checks hold the streams that the device serves, ${all.count}`);
      this.#throttled = true;
      throw new Throttled();
    }
    if (isThrottled(stream) && needed && this.#count > 0 && all.most <= this.#count) {
      await stream.close();
      t.notApplicable(servesFew(this.#count));
    }
    observeCursor(t, options, stream.status);
    this.#opened.set(stream, options);
    all.add(stream);
    return stream;
  }
}

/** Longest wait in heartbeat intervals until a device notices a closed stream, perhaps only by a failed heartbeat. */
const HEARTBEATS_LATE = 1.2;
/** False once a wait of `HEARTBEATS_LATE` intervals has had no effect, so that no later check waits as long. */
const NOTICES_LATE = new Fact(() => true);

/** Refused stream in place of one that the device leaves waiting; no caller follows it. */
const WAITING: HeldStream = { status: 503, headers: {}, ended: undefined, close: async () => {} };

function held(response: OpenResponse): HeldStream & { response: OpenResponse } {
  const { status, headers, body } = response;
  const ended: { at: number } | undefined = undefined;
  const stream = { response, status, headers, ended, close: async () => response.abort() };
  body.once('close', () => Object.assign(stream, { ended: { at: performance.now() } }));
  return stream;
}

export const ENDS_AT_ONCE_MS = 300;
const TYPES_OF_STREAMS = new Fact(() => new Set<string>());

export async function staysOpen({ patienceMs, session }: Device, stream: EventStream): Promise<boolean> {
  const known = session.get(TYPES_OF_STREAMS);
  const type = mediaType(stream.headers);
  if (known.has(type)) return true;
  const within = Math.min(2 * ENDS_AT_ONCE_MS, patienceMs);
  await stream.idle(ENDS_AT_ONCE_MS, { within, for: 'the end of an answer' });
  if (stream.ended === undefined) known.add(type);
  return stream.ended === undefined;
}

async function expectServed(t: Device, stream: EventStream, options: OpenEvents): Promise<void> {
  if (
    stream.status === 200 &&
    (isEventStream(stream) || (t.allowsFor(CONTENT_TYPE_ODD) && (await staysOpen(t, stream))))
  )
    return;
  if (stream.status === 410) endIfGone(t, options);
  t.must(false, {
    expected: `200 with an event stream for ${describeOpen(options)}`,
    actual: await describeAnswer(t, stream),
  });
}

/** Multiple of `patienceMs` after which an answer counts as endless. */
const ENDLESS = 6;

export const endOf = (t: Device, stream: EventStream): Promise<string> =>
  inTime(t, 'answer', (within) => stream.rest({ within, atMost: ENDLESS * t.patienceMs, for: 'the end of the 410' }));

export async function describeAnswer(t: Device, stream: EventStream): Promise<string> {
  const ending = (within: number) => stream.rest({ within, atMost: within, for: 'the end of the answer' });
  if (stream.status !== 200) await inTime(t, 'answer', ending).catch(() => '');
  return (
    `${stream.status} ${stream.headers['content-type'] ?? 'without content-type'} ` +
    `${JSON.stringify(stream.head().slice(0, 300))}`
  );
}

export function describeOpen({ query, after, types, lastEventId }: OpenEvents): string {
  const given = { '?': query, 'after=': after, 'types=': types?.join(','), 'Last-Event-ID: ': lastEventId };
  const parts = Object.entries(defined(given)).map(([name, value]) => `${name}${value}`);
  return parts.length === 0 ? 'GET /events' : `GET /events with ${parts.join(', ')}`;
}
