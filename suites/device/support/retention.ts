/** Estimates how many events the log keeps, from control or from answers to cursors. */
import type { OpenEvents } from '../../../harness/client/sse.ts';
import { Fact } from '../../../harness/runner/session.ts';
import { TooLittleSeen } from '../../../harness/runner/violation.ts';
import type { Device } from './check.ts';
import { LOG_STATE } from './log-state.ts';

export class TooFewRetained extends TooLittleSeen {}

const OBSERVED = new Fact(() => ({
  /** Most events seen after a served cursor. */
  served: 0,
  /** Fewest events seen after a cursor refused with 410. */
  refused: Number.POSITIVE_INFINITY,
}));

function retentionOf({ info, session }: Device): number {
  const { served, refused } = session.get(OBSERVED);
  return info.retention ?? Math.max(served, Math.min(refused, 200));
}

/** A quarter of the retention, because other checks publish too. */
const certainlyKept = (t: Device): number => Math.floor(retentionOf(t) / 4);

/** Maximum number of events after a cursor; with more, the log may have dropped the cursor. */
export const mostEvents = (t: Device): number =>
  Math.max(certainlyKept(t), Math.min(3, Math.floor(retentionOf(t) / 2)));

/** Maximum number of events that control may have caused after the cursor; Infinity if unknown. */
export function eventsAfter({ session }: Pick<Device, 'session'>, cursor: bigint): number {
  const { newest, step = 1, more, asked } = session.get(LOG_STATE);
  return newest === undefined ? Number.POSITIVE_INFINITY : Math.ceil(Number(newest - cursor) / step) + more + asked;
}

export function retainedFrom(t: Device, before: bigint, events: readonly { id: bigint }[]): bigint {
  const all = [before, ...events.map(({ id }) => id)];
  const many = (id: bigint, at: number): number => Math.max(eventsAfter(t, id), all.length - 1 - at);
  return all.find((id, at) => many(id, at) <= mostEvents(t)) ?? all.at(-1) ?? before;
}

export function requireRoomFor(t: Device, events: number): void {
  if (mostEvents(t) < events) throw new TooFewRetained(`needs ${events + 1} retained events: ${describeRetention(t)}`);
}

function describeRetention({ info, session }: Device): string {
  const { refused } = session.get(OBSERVED);
  if (info.retention !== undefined) return `the log keeps at most ${info.retention}`;
  return Number.isFinite(refused) ? `the log kept fewer than ${refused + 1}` : 'nothing tells how many the log keeps';
}

export function observeCursor(t: Device, options: OpenEvents, status: number): void {
  const cursor = cursorOf(options);
  const { newest, step, changedAt } = t.session.get(LOG_STATE);
  if (cursor === undefined || newest === undefined || cursor <= changedAt || newest < cursor) return;
  const seen = t.session.get(OBSERVED);
  // Excludes events that control may still publish, and counts none while ids may have gaps of unknown width.
  if (status === 200 && step !== undefined)
    seen.served = Math.max(seen.served, Math.floor(Number(newest - cursor) / step));
  if (status === 410) seen.refused = Math.min(seen.refused, eventsAfter(t, cursor));
}

export function mayBeGone(t: Device, options: OpenEvents): boolean {
  const cursor = cursorOf(options);
  if (cursor === undefined) return false;
  // One event of another client may displace any event of a tiny log.
  if (t.info.retention !== undefined && certainlyKept(t) === 0) return true;
  if (eventsAfter(t, cursor) <= certainlyKept(t)) return false;
  const { left, step = 1 } = t.session.get(LOG_STATE);
  if (left === undefined || cursor < left.earliest) return true;
  const kept = Math.ceil(Number(left.latest - left.earliest) / step) + 1;
  // Assumes that each later event displaces the oldest one.
  return kept + Math.max(0, eventsAfter(t, left.latest)) > (t.info.retention ?? kept);
}

/** Throws TooFewRetained for a cursor that may have expired, because 410 is then right; the check runs once more. */
export function endIfGone(t: Device, options: OpenEvents): void {
  const cursor = cursorOf(options);
  if (cursor === undefined || !mayBeGone(t, options)) return;
  throw new TooFewRetained(`needs the events from ${cursor} on, and they were compacted away: ${describeRetention(t)}`);
}

function cursorOf({ after, lastEventId, query }: OpenEvents): bigint | undefined {
  const given = query === undefined ? (after ?? lastEventId) : new URLSearchParams(query).get('after');
  return /^\d{1,19}$/.test(String(given)) ? BigInt(String(given)) : undefined;
}
