import fc from 'fast-check';
import { LONGEST_ANSWER } from '../../../harness/client/http.ts';
import { type EventStream, type OpenEvents, StreamEnded, StreamTimeout } from '../../../harness/client/sse.ts';
import { Patience } from '../../../harness/common/waiting.ts';
import { Fact } from '../../../harness/runner/session.ts';
import { type Device, ignoring, inTime, timeoutMs } from './check.ts';
import {
  eventBudget,
  type Published,
  publish,
  publishEveryEventKind,
  publishUnread,
  readUpTo,
  subscribeAtKnownCursor,
} from './drive.ts';
import { distinct, expectSameEvents, readEvent, type SeenEvent } from './events.ts';
import { eventsAfter, mostEvents, requireRoomFor } from './retention.ts';
import { describeOpen, type Streams } from './streams.ts';
import { Subscription } from './subscription.ts';

/** Nearly as many events as the log keeps, so that a limit on the length of a replay shows. */
export interface LogStretch {
  cursor: bigint;
  events: SeenEvent[];
}

const LEAST_STRETCH = 2;
export const fillingMs = ({ session }: Device): number => (session.publishesSlowly ? 2000 : 6000);

export async function fillLog(t: Device, streams: Streams, most = 1500): Promise<LogStretch | undefined> {
  const { cursor, live } = await subscribeAtKnownCursor(t, streams);
  await live.close();
  const { retention } = t.info;
  // A tenth stays free, because compaction may remove most events of a full log.
  const count = Math.floor(Math.min(most, retention === undefined ? 500 : retention * 0.9));
  requireRoomFor(t, count < LEAST_STRETCH ? LEAST_STRETCH : 0);
  const stretch: LogStretch = { cursor, events: [] };
  const started = performance.now();
  for (let wanted = 50; stretch.events.length < count && performance.now() - started < fillingMs(t); wanted *= 2) {
    const portion = Math.min(eventBudget(t, wanted), count - stretch.events.length);
    if (!(await extendStretch(t, streams, stretch, portion))) return undefined;
  }
  return stretch;
}

export async function extendStretch(t: Device, streams: Streams, stretch: LogStretch, count: number): Promise<boolean> {
  const after = stretch.events.at(-1)?.id ?? stretch.cursor;
  const stream = await streams.try({ after });
  const { last } = await publish(t, count);
  const { events, problem, expired } = await readUntil(t, streams, { stream, after, last });
  if (expired) return false;
  t.must(problem === undefined, { expected: `the events published up to ${last}, after ${after}`, actual: problem });
  stretch.events.push(...events);
  return true;
}

export async function earliestServedIn(streams: Streams, { cursor, events }: LogStretch): Promise<bigint | undefined> {
  if ((await statusAt(streams, cursor)) !== 410) return cursor;
  let expired = -1;
  let good = events.length - 1;
  while (good - expired > 1) {
    const middle = Math.floor((good + expired) / 2);
    if ((await statusAt(streams, events[middle]?.id ?? 0n)) === 410) expired = middle;
    else good = middle;
  }
  return good < events.length - 1 ? events[good]?.id : undefined;
}

export async function expectStretchReplayed(
  t: Device,
  streams: Streams,
  stretch: LogStretch,
  openAt: (cursor: bigint) => OpenEvents = (after) => ({ after }),
): Promise<void> {
  for (let attempt = 0; attempt < 4; attempt += 1) {
    const cursor = await earliestServedIn(streams, stretch);
    if (cursor === undefined) break;
    const opening = openAt(cursor);
    const stream = await streams.try(opening);
    if (await expectReplay(t, streams, stretch, { cursor, stream, what: describeOpen(opening) })) return;
  }
  t.note('the log was compacted too soon to compare the replay of a long stretch of it');
}

export async function expectReplay(
  t: Device,
  streams: Streams,
  stretch: LogStretch,
  { cursor, stream, what }: { cursor: bigint; stream: EventStream; what: string },
): Promise<boolean> {
  const last = stretch.events.at(-1)?.id ?? stretch.cursor;
  const { events, problem, expired } = await readUntil(t, streams, { stream, after: cursor, last });
  if (expired || (await statusAt(streams, cursor)) === 410) return false;
  const due = stretch.events.filter(({ id }) => id > cursor);
  t.must(problem === undefined || events.length > 0, {
    expected: `the replay of ${due.length} events for ${what}`,
    actual: problem,
  });
  const came = events.filter(({ id }) => id <= last);
  expectSameEvents(t, came, due, what);
  t.saw('compared replays');
  return true;
}

async function statusAt(streams: Streams, after: bigint): Promise<number> {
  const stream = await streams.try({ after, cutAfterBytes: 1 });
  await stream.close();
  return stream.status;
}

/** Resumes a stream that ends, once even without an event, because a device may cut a slow reader. */
async function readUntil(
  t: Device,
  streams: Streams,
  { stream: opened, after, last }: { stream: EventStream; after: bigint; last: bigint },
) {
  const events: SeenEvent[] = [];
  const stopped = (problem: string | undefined, expired = false) => ({ events, problem, expired });
  let idle = 0;
  for (let next = opened; ; ) {
    const stream = next;
    if (stream.status !== 200) return stopped(`GET /events is answered with ${stream.status}`, stream.status === 410);
    const before = events.length;
    try {
      for (;;) {
        const next = async (within: number): Promise<SeenEvent | undefined> =>
          readEvent(t, await stream.next({ within, for: 'the next event of a replay' }));
        // Measures no event after `last`, because it was published later.
        const event = await inTime(t, 'replay', next, (one) => one === undefined || one.id <= last);
        if (event === undefined) continue;
        events.push(event);
        if (event.id >= last) return stopped(undefined);
      }
    } catch (error) {
      if (!(error instanceof StreamTimeout || error instanceof StreamEnded)) throw error;
      idle = events.length === before ? idle + 1 : 0;
      if (error instanceof StreamTimeout || idle > 1) return stopped(error.message);
      next = await streams.try({ after: events.at(-1)?.id ?? after });
    } finally {
      await stream.close();
    }
  }
}

export interface Recording {
  all: SeenEvent[];
  cursor: bigint;
  published: Published;
}

const EVENTS_OF_EVERY_KIND = 8;

/** Reads events from a replay, because live streams may lose some. */
export async function record(t: Device, streams: Streams, count: number): Promise<Recording> {
  requireRoomFor(t, 1);
  const { last: cursor } = await publish(t, 1);
  // Adds events of deployments, because a replay must show each deployment as it was at its event.
  if (mostEvents(t) > EVENTS_OF_EVERY_KIND) await publishEveryEventKind(t);
  const room = Math.max(1, mostEvents(t) - eventsAfter(t, cursor));
  const published = await publish(t, Math.min(eventBudget(t, count), room));
  const replay = await streams.open({ after: cursor });
  const all = laterThan(cursor, await readUpTo(replay, published));
  await replay.close();
  return { all, cursor, published };
}

/** Drops repeated events and the event at the cursor, which device.events.replay.exclusive judges. */
export const laterThan = (cursor: bigint, events: readonly SeenEvent[]): SeenEvent[] =>
  distinct(events).filter(({ id }) => id > cursor);

/** Draws ids of events, because any other id may be an invalid cursor. */
export const cursorIn = (events: readonly SeenEvent[], ...more: bigint[]): fc.Arbitrary<bigint> =>
  fc.constantFrom(...more, ...events.slice(0, -1).map(({ id }) => id));

const PAUSES_MS = [200, 400, 800, 1600];

/** Publishes until a live event arrives; device.events.replay.seam judges lost ones. */
export async function firstLiveEvent(t: Device, subscription: Subscription): Promise<void> {
  const { stream } = subscription;
  const seen = { frames: stream.frames.length, comments: Number.POSITIVE_INFINITY };
  const { first } = await publishUnread(t, 1);
  const started = performance.now();
  for (const within of PAUSES_MS) {
    const wait = { within, atMost: LONGEST_ANSWER * within, for: 'a live event' };
    if (await stream.activity(seen, wait).catch(ignoring(StreamTimeout, StreamEnded))) break;
    await publishUnread(t, 1);
    // Gives up at the timeout for events, which other checks may have shortened.
    if (performance.now() - started >= timeoutMs(t, 'event')) break;
  }
  await subscription.reach(first, `a live event, from ${first} on`);
}

export const EXTENT = new Fact<{ earliest: bigint; frames: number } | undefined>(() => undefined);

export async function requireRetained(t: Device, streams: Streams): Promise<Subscription> {
  return (await sampleRetained(t, streams)) ?? t.undecided('the device replays no event that it retained');
}

export async function sampleRetained(
  t: Device,
  streams: Streams,
  cutAfterBytes = 500_000,
): Promise<Subscription | undefined> {
  const known = t.session.get(EXTENT);
  const patience = new Patience(t.patienceMs);
  let cursor: bigint | undefined = known?.earliest;
  let stream: EventStream;
  do {
    cursor = await earliestServed(streams, cursor);
    if (cursor === undefined) return undefined;
    stream = await streams.try({ after: cursor, cutAfterBytes });
  } while (stream.status === 410 && patience.leftMs > 0);
  if (stream.status !== 200) return undefined;
  // Silence that ends the replay: 250 ms, or 40 ms once it is as long as the last sample.
  const quietMs = (): number => (stream.frames.length < (known?.frames ?? Infinity) ? 250 : 40);
  await stream.idle(quietMs, { within: Math.min(3000, t.patienceMs), for: 'the end of the replay' });
  await stream.close();
  const frames = stream.frames.length;
  if (frames === 0) return undefined;
  t.session.set(EXTENT, { earliest: cursor, frames: Math.max(frames, known?.frames ?? 0) });
  return new Subscription(t, stream);
}

async function earliestServed(streams: Streams, known = 0n): Promise<bigint | undefined> {
  const zero = await statusAt(streams, 0n);
  if (zero !== 410) return zero === 200 ? 0n : undefined;
  // Searches upwards from the last known start of the log, because compaction only ever moves the start up.
  let low = known > 0n ? known - 1n : 0n;
  let high = low + 1n;
  let status = await statusAt(streams, high);
  for (; status === 410; status = await statusAt(streams, high)) {
    if (high > 2n ** 62n) return undefined;
    const step = high - low;
    low = high;
    high += 2n * step;
  }
  // Takes every status but 410 as not expired, because a device may refuse a cursor beyond its newest event.
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    const found = await statusAt(streams, middle);
    if (found === 410) low = middle;
    else [high, status] = [middle, found];
  }
  return status === 200 ? high : undefined;
}
