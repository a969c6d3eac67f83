/** A stretch of the log that a check has just filled, as a replay shows it: what other replays are compared with. */
import fc from 'fast-check';
import { type EventStream, StreamEnded, StreamTimeout } from '../../../harness/client/sse.ts';
import type { Device } from './check.ts';
import { eventBudget, mostEvents, type Published, publish, publishEveryEventKind, readUpTo } from './drive.ts';
import { distinct, type SeenEvent } from './events.ts';
import { type Pace, paceOf } from './pace.ts';
import type { Streams, Subscription } from './streams.ts';

export interface Recording {
  /** Everything after the cursor. */
  all: SeenEvent[];
  cursor: bigint;
  published: Published;
}

/** The last recording of a slow target. */
interface Kept {
  recording: Recording;
  at: number;
  /** That many changes of the log were before it. */
  changes: number;
}

/** By pace, which is one object for all checks of a target. */
const lastOf = new WeakMap<Pace, Kept>();
/** Milliseconds: whatever an agent does with old events, it does not do it at once. */
const KEPT_MS = 60_000;

/**
 * Fills a stretch of the log and reads it back. Where each event takes a while, checks share a stretch that is certainly retained. What a
 * live stream loses or changes does not matter here.
 */
export async function record(t: Device, streams: Streams, count: number): Promise<Recording> {
  const pace = paceOf(t);
  const kept = pace.isSlow('publish') ? lastOf.get(pace) : undefined;
  if (kept !== undefined && isFresh(t, kept)) return kept.recording;
  const recording = await recordAfresh(t, streams, count);
  lastOf.set(pace, { recording, at: performance.now(), changes: pace.logChanges });
  return recording;
}

/** Whether neither a compaction nor a restart came since, and too few events for the device to compact by itself. */
function isFresh(t: Device, { recording, at, changes }: Kept): boolean {
  const { knownCursor: newest, logChanges } = paceOf(t);
  if (newest === undefined || logChanges !== changes || performance.now() - at > KEPT_MS) return false;
  return newest - recording.cursor < BigInt(mostEvents(t));
}

/** The same, and nothing but what others cause has come since. */
export async function recordAfresh(t: Device, streams: Streams, count: number): Promise<Recording> {
  const { last: cursor } = await publish(t, 1);
  // Deployments change while their events stay as they were sent.
  await publishEveryEventKind(t);
  const published = await publish(t, eventBudget(t, count));
  const replay = await streams.open({ after: cursor });
  const all = laterThan(cursor, await readUpTo(replay, published));
  await replay.close();
  return { all, cursor, published };
}

/** Whether a replay repeats its cursor is a requirement of its own. */
export const laterThan = (cursor: bigint, events: readonly SeenEvent[]): SeenEvent[] =>
  distinct(events).filter(({ id }) => id > cursor);

/**
 * Any id in the stretch, up to the last but one. Ids need not be contiguous, and whether a number between two of them is a valid
 * cursor is not stated.
 */
export const cursorIn = ({ all, cursor }: Recording): fc.Arbitrary<bigint> =>
  fc.constantFrom(cursor, ...all.slice(0, -1).map(({ id }) => id));

/** Milliseconds that an event may take before another is published: each is twice the last. */
const PAUSES_MS = [200, 400, 800, 1600];

/**
 * Publishes until an event has come on each stream, and gives the newest that was waited for: from then on they are live. Those that
 * were lost before are for the check of the seam between replay and live to find.
 */
export async function firstLiveEvent(t: Device, ...subscriptions: readonly Subscription[]): Promise<bigint> {
  const counted = subscriptions.map(({ stream }) => ({ stream, frames: stream.frames.length }));
  const { first } = await publish(t, 1);
  for (const within of PAUSES_MS) {
    const came = await Promise.all(counted.map(({ stream, frames }) => growsWithin(stream, frames, within)));
    if (came.every(Boolean)) break;
    await publish(t, 1);
  }
  const read = await Promise.all(subscriptions.map((each) => each.reach(first, `a live event, from ${first} on`)));
  return read.map((events) => events.at(-1)?.id ?? first).toSorted((a, b) => Number(b - a))[0] ?? first;
}

/** Whether another frame comes within the milliseconds. */
async function growsWithin(stream: EventStream, frames: number, within: number): Promise<boolean> {
  try {
    return await stream.activity({ frames, comments: Number.POSITIVE_INFINITY }, { within, for: 'a live event' });
  } catch (error) {
    if (error instanceof StreamTimeout || error instanceof StreamEnded) return false;
    throw error;
  }
}
