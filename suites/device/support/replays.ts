/** Replays of published events: a long stretch of the log, or a short recording that several checks compare. */

import fc from 'fast-check';
import { LONGEST_ANSWER } from '../../../harness/client/http.ts';
import { type EventStream, type OpenEvents, StreamEnded, StreamTimeout } from '../../../harness/client/sse.ts';
import { Fact } from '../../../harness/runner/session.ts';
import { type Device, inTime, timeoutMs } from './check.ts';
import {
  eventBudget,
  type Published,
  publish,
  publishEveryEventKind,
  readUpTo,
  subscribeAtKnownCursor,
} from './drive.ts';
import { distinct, expectSameEvents, readEvent, type SeenEvent } from './events.ts';
import { LOG_STATE } from './log-state.ts';
import { EVENTS_OF_EVERY_KIND, eventsAfter, mostEvents, requireRoomFor } from './retention.ts';
import { describeOpen, type Streams } from './streams.ts';
import type { Subscription } from './subscription.ts';

/** Published events, nearly as many as the log keeps, which reveal limits on replays and on starts. */
export interface LogStretch {
  cursor: bigint;
  events: SeenEvent[];
}

const MOST_EVENTS = 1500;
/** Minimum number of events in a stretch, because one event has no order. */
const LEAST_STRETCH = 2;
/** Maximum milliseconds to fill a log; a slow device gets less time. */
export const fillingMs = ({ session }: Device): number => (session.publishesSlowly ? 2000 : 6000);
const ATTEMPTS = 4;

export async function fillLog(t: Device, streams: Streams, most = MOST_EVENTS): Promise<LogStretch | undefined> {
  const { cursor, live } = await subscribeAtKnownCursor(t, streams);
  await live.close();
  const { retention } = t.info;
  // Leaves a tenth of the log free, because compaction may remove most events of a full log.
  const kept = retention === undefined ? 500 : Math.floor(retention * 0.9);
  const count = Math.floor(Math.min(most, kept));
  requireRoomFor(t, count < LEAST_STRETCH ? LEAST_STRETCH : 0);
  const stretch: LogStretch = { cursor, events: [] };
  const started = performance.now();
  // Publishes a small portion first and doubles it, because the device may be slow.
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
  if (await isServed(streams, cursor)) return cursor;
  let expired = -1;
  let good = events.length - 1;
  while (good - expired > 1) {
    const middle = Math.floor((good + expired) / 2);
    if (await isServed(streams, events[middle]?.id ?? 0n)) good = middle;
    else expired = middle;
  }
  return good < events.length - 1 ? events[good]?.id : undefined;
}

export async function expectStretchReplayed(
  t: Device,
  streams: Streams,
  stretch: LogStretch,
  openAt: (cursor: bigint) => OpenEvents = (after) => ({ after }),
  when = '',
): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const cursor = await earliestServedIn(streams, stretch);
    if (cursor === undefined) break;
    const opening = openAt(cursor);
    const stream = await streams.try(opening);
    const replay = { cursor, stream, what: `${describeOpen(opening)}${when}` };
    if (await expectReplay(t, streams, stretch, replay)) return;
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
  if (expired || !(await isServed(streams, cursor))) return false;
  const due = stretch.events.filter(({ id }) => id > cursor);
  t.must(problem === undefined || events.length > 0, {
    expected: `the replay of ${due.length} events for ${what}`,
    actual: problem,
  });
  const came = events.filter(({ id }) => id <= last);
  expectSameEvents(t, came, due, what);
  return true;
}

async function isServed(streams: Streams, after: bigint): Promise<boolean> {
  const stream = await streams.try({ after, cutAfterBytes: 1 });
  await stream.close();
  return stream.status !== 410;
}

interface Reading {
  events: SeenEvent[];
  problem: string | undefined;
  expired: boolean;
}

/** Resumes a stream that ends, also once without an event, since a device may cut a stream that falls behind. */
async function readUntil(
  t: Device,
  streams: Streams,
  { stream: opened, after, last }: { stream: EventStream; after: bigint; last: bigint },
): Promise<Reading> {
  const events: SeenEvent[] = [];
  const stopped = (problem: string, expired = false): Reading => ({ events, problem, expired });
  let idle = 0;
  for (let next = opened; ; ) {
    const stream = next;
    if (stream.status !== 200) return stopped(`GET /events is answered with ${stream.status}`, stream.status === 410);
    const before = events.length;
    try {
      for (;;) {
        const next = async (within: number): Promise<SeenEvent | undefined> =>
          readEvent(t, await stream.next({ within, for: 'the next event of a replay' }));
        // Leaves events after `last` out of the timing, because they were published later.
        const event = await inTime(t, 'replay', next, (one) => one === undefined || one.id <= last);
        if (event === undefined) continue;
        events.push(event);
        if (event.id >= last) return { events, problem: undefined, expired: false };
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

interface Kept {
  recording: Recording;
  at: number;
  changes: number;
}

const LAST_RECORDING = new Fact<Kept | undefined>(() => undefined);
/** Milliseconds for which checks share a recording; agents keep events for longer. */
const KEPT_MS = 60_000;

/**
 * Publishes events and reads them from a replay, so that losses on live streams do not matter. On a slow target,
 * several checks share one replay.
 */
export async function record(t: Device, streams: Streams, count: number): Promise<Recording> {
  const { session } = t;
  const kept = session.publishesSlowly ? session.get(LAST_RECORDING) : undefined;
  if (kept !== undefined && isFresh(t, kept)) return kept.recording;
  const recording = await recordAfresh(t, streams, count);
  session.set(LAST_RECORDING, { recording, at: performance.now(), changes: session.get(LOG_STATE).changes });
  return recording;
}

function isFresh(t: Device, { recording, at, changes }: Kept): boolean {
  const { knownCursor: newest, changes: now } = t.session.get(LOG_STATE);
  if (newest === undefined || now !== changes || performance.now() - at > KEPT_MS) return false;
  return newest - recording.cursor < BigInt(mostEvents(t));
}

export async function recordAfresh(t: Device, streams: Streams, count: number): Promise<Recording> {
  requireRoomFor(t, 1);
  const { last: cursor } = await publish(t, 1);
  // Adds events of deployments, whose replay must not change when the deployments change.
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

/** Draws a cursor from the ids of events, because an id that no event has may be an invalid cursor. */
export const cursorIn = ({ all, cursor }: Recording): fc.Arbitrary<bigint> =>
  fc.constantFrom(cursor, ...all.slice(0, -1).map(({ id }) => id));

const PAUSES_MS = [200, 400, 800, 1600];

/**
 * Publishes until each stream has carried a live event; returns the newest id. The check device.events.replay.seam
 * judges lost events.
 */
export async function firstLiveEvent(t: Device, ...subscriptions: readonly Subscription[]): Promise<bigint> {
  const counted = subscriptions.map(({ stream }) => ({ stream, frames: stream.frames.length }));
  const { first } = await publish(t, 1);
  const started = performance.now();
  for (const within of PAUSES_MS) {
    const came = await Promise.all(counted.map(({ stream, frames }) => growsWithin(stream, frames, within)));
    if (came.every(Boolean)) break;
    await publish(t, 1);
    // Gives up at the timeout for events, which is shorter after timeouts of other checks.
    if (performance.now() - started >= timeoutMs(t, 'event')) break;
  }
  const read = await Promise.all(subscriptions.map((each) => each.reach(first, `a live event, from ${first} on`)));
  return read.map((events) => events.at(-1)?.id ?? first).toSorted((a, b) => Number(b - a))[0] ?? first;
}

async function growsWithin(stream: EventStream, frames: number, within: number): Promise<boolean> {
  try {
    const seen = { frames, comments: Number.POSITIVE_INFINITY };
    return await stream.activity(seen, { within, atMost: LONGEST_ANSWER * within, for: 'a live event' });
  } catch (error) {
    if (error instanceof StreamTimeout || error instanceof StreamEnded) return false;
    throw error;
  }
}
