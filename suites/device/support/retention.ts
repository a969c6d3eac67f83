/**
 * How many events the log keeps. The specification shows no number (section 8), so control may name it, and else it is
 * observed: by the cursors that are served, and by those that get 410. A check needs no more events than there are.
 */
import type { OpenEvents } from '../../../harness/client/sse.ts';
import { Fact } from '../../../harness/runner/session.ts';
import { TooLittleSeen } from '../../../harness/runner/violation.ts';
import type { Device } from './check.ts';
import { LOG_STATE } from './log-state.ts';

/** A check needs more retained events than there were. */
export class TooFewRetained extends TooLittleSeen {
  override name = 'TooFewRetained';
}

/** Until anything is observed: few logs keep fewer events. */
const ASSUMED_RETENTION = 200;
/** A check may run beside events of other origin, and they count against the same limit. */
const SHARE_OF_RETENTION = 1 / 4;
/** Of a small log a larger share: with none of its events nothing can be replayed. */
const SHARE_OF_SMALL = 1 / 2;
const FEW = 3;
/** Those that `publishEveryEventKind` causes, as far as the specification names types. */
export const EVENTS_OF_EVERY_KIND = 8;

interface Observed {
  /** The most events after a cursor that was served. */
  served: number;
  /** The fewest events after a cursor that got 410. */
  refused: number;
}

const OBSERVED = new Fact<Observed>(() => ({ served: 0, refused: Number.POSITIVE_INFINITY }));

/** Events that the log keeps at most, as far as it is known. */
function retentionOf({ info, session }: Device): number {
  const { served, refused } = session.get(OBSERVED);
  return info.retention ?? Math.max(served, Math.min(refused, ASSUMED_RETENTION));
}

/** As many events as an agent keeps after a cursor whenever it compacts. One that compacts to nothing keeps none. */
const certain = (t: Device): number => Math.floor(retentionOf(t) * SHARE_OF_RETENTION);

/** As many events as may be published after one without that one being compacted away. May be 0. */
export const mostEvents = (t: Device): number =>
  Math.max(certain(t), Math.min(FEW, Math.floor(retentionOf(t) * SHARE_OF_SMALL)));

/** How many events there are after that one, or fewer, as far as control has caused them. Infinity: nobody knows. */
export function eventsAfter({ session }: Pick<Device, 'session'>, cursor: bigint): number {
  const { newest, step = 1, more, asked } = session.get(LOG_STATE);
  return newest === undefined ? Number.POSITIVE_INFINITY : Math.ceil(Number(newest - cursor) / step) + more + asked;
}

/** The earliest of the events, or the one before them, that has no more events after it than the log keeps. */
export function retainedFrom(t: Device, before: bigint, events: readonly { id: bigint }[]): bigint {
  const all = [before, ...events.map(({ id }) => id)];
  const many = (id: bigint, at: number): number => Math.max(eventsAfter(t, id), all.length - 1 - at);
  return all.find((id, at) => many(id, at) <= mostEvents(t)) ?? all.at(-1) ?? before;
}

/** Ends the check as undecided where the log does not keep so many events after a cursor. */
export function requireRoomFor(t: Device, events: number): void {
  if (mostEvents(t) < events) throw new TooFewRetained(`needs ${events + 1} retained events: ${kept(t)}`);
}

function kept({ info, session }: Device): string {
  const { refused } = session.get(OBSERVED);
  if (info.retention !== undefined) return `the log keeps at most ${info.retention}`;
  return `the log kept fewer than ${refused + 1}`;
}

/** Takes note of the answer to a cursor. What a compaction or a restart has dropped tells nothing. */
export function observeCursor(t: Device, options: OpenEvents, status: number): void {
  const cursor = cursorOf(options);
  if (cursor === undefined || cursor <= t.session.get(LOG_STATE).changedAt) return;
  const { newest, step = 1 } = t.session.get(LOG_STATE);
  if (newest === undefined || newest < cursor) return;
  const { served, refused } = t.session.get(OBSERVED);
  // Only those that are certainly there by now count as kept.
  const certainly = Math.floor(Number(newest - cursor) / step);
  if (status === 200) t.session.set(OBSERVED, { served: Math.max(served, certainly), refused });
  if (status === 410) t.session.set(OBSERVED, { served, refused: Math.min(refused, eventsAfter(t, cursor)) });
}

/** Whether so many events may have come after the cursor that it is older than the earliest retained one by now. */
export function mayBeGone(t: Device, options: OpenEvents): boolean {
  const cursor = cursorOf(options);
  if (cursor === undefined) return false;
  return isTiny(t) || (eventsAfter(t, cursor) > certain(t) && !isLeft(t, cursor));
}

/** Where one event of other origin is enough to drop any other. */
const isTiny = (t: Device): boolean => t.info.retention !== undefined && certain(t) === 0;

/** Whether a compaction left the event, and the log has had no reason for another one. */
function isLeft(t: Device, cursor: bigint): boolean {
  const { left, step = 1 } = t.session.get(LOG_STATE);
  if (left === undefined || cursor < left.earliest) return false;
  const kept = Math.ceil(Number(left.latest - left.earliest) / step) + 1;
  // A log may drop its oldest event with each new one.
  return kept + Math.max(0, eventsAfter(t, left.latest)) <= (t.info.retention ?? kept);
}

/** For a cursor that got 410: ends the check as undecided when that is as it should be. */
export function endIfGone(t: Device, options: OpenEvents): void {
  const cursor = cursorOf(options);
  if (cursor === undefined || !mayBeGone(t, options)) return;
  throw new TooFewRetained(`needs the events from ${cursor} on, and they were compacted away: ${kept(t)}`);
}

/** The cursor that decides; undefined when it is none, or none that any device must understand. */
function cursorOf({ after, lastEventId, query }: OpenEvents): bigint | undefined {
  const given = query === undefined ? (after ?? lastEventId) : new URLSearchParams(query).get('after');
  return /^\d{1,19}$/.test(String(given)) ? BigInt(String(given)) : undefined;
}
