/** Section 9, everglades: when a deployment was queued, deployed and archived. */
import { instantOf, isIso8601 } from '../../../harness/contract/shape.ts';
import type { KnownRecord, Shown } from './model.ts';

/** Words in names of timestamps, because the specification names no members. */
const TIMINGS = ['queued', 'deployed', 'archived'] as const;
type Timing = (typeof TIMINGS)[number];

/** Words in names of planned times, such as `auto_archived_after`. */
const PLAN = /(^|_)(auto|after|until|by|scheduled|due|expected|planned|not|be)(_|$)/;
const isTimestamp = (value: unknown): value is string | null =>
  value === null || (typeof value === 'string' && isIso8601(value));

export function timestampOf(record: unknown, timing: Timing, depth = 2): string | null | undefined {
  if (typeof record !== 'object' || record === null) return undefined;
  const usual = (record as Readonly<Record<string, unknown>>)[`${timing}_at`];
  if (isTimestamp(usual)) return usual;
  const named = Object.entries(record).filter(([name]) => name.includes(timing) && !PLAN.test(name));
  const times = named.map(([, value]) => value as unknown).filter(isTimestamp);
  if (times.length > 0 || depth === 0) return times.find((at) => at !== null) ?? times[0];
  for (const value of Object.values(record)) {
    // Skips an expanded resource, which has timestamps of its own.
    if (typeof value === 'object' && value !== null && 'object' in value) continue;
    const found = timestampOf(value, timing, depth - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Timestamps that a deployment of this run must have (`past`) and must not have (`future`), by its activity. */
const HISTORIES: Readonly<Record<string, { past: readonly Timing[]; future: readonly Timing[] }>> = {
  staged: { past: [], future: TIMINGS },
  queued: { past: ['queued'], future: ['deployed', 'archived'] },
  // Leaves `deployed` open, because a reachable device may have deployed it between two reads.
  archived: { past: ['archived'], future: [] },
};
const ACTIVITIES_SINCE: Readonly<Record<Timing, readonly string[]>> = {
  queued: ['queued', 'deployed'],
  deployed: ['deployed', 'removing'],
  archived: ['archived'],
};
/** Timestamps that never change; `deployed` may, because a device may get the same deployment again. */
const ONCE: readonly Timing[] = ['queued', 'archived'];

/** Milliseconds by which the clocks of a platform's nodes, or the resolutions of two timestamps, may differ. */
const SKEW_MS = 1000;

/** `isStrict`: no wrong clock or old deployment explains the difference. */
type Hold = (isRight: boolean, isStrict: boolean, expected: string) => void;

/** `latest`: last moment that may be shown, in milliseconds since 1970. */
export function judgeMoments(item: Shown, record: KnownRecord, latest: number, hold: Hold): void {
  const activity = String(item['activity_status']);
  const times = new Map(TIMINGS.map((timing) => [timing, timestampOf(item, timing)] as const));
  const has = (timing: Timing): boolean => typeof times.get(timing) === 'string';
  // In a deployment of this run, a missing timestamp breaks a MUST if the answer shows another one, and else a SHOULD.
  const hasAny = [...times.values()].some((at) => at !== undefined);
  const { past, future } = record.isOurs
    ? (HISTORIES[activity] ?? { past: [], future: [] })
    : { past: TIMINGS.filter((timing) => ACTIVITIES_SINCE[timing].includes(activity)), future: [] };
  for (const timing of past)
    hold(has(timing), record.isOurs && hasAny, `when it was ${timing}, in a deployment that is ${activity}`);
  const dates = [...times.values()].flatMap((at) => (typeof at === 'string' ? [instantOf(at)] : []));
  const backMs = Math.max(0, ...dates.slice(1).map((time, index) => (dates[index] ?? 0) - time));
  hold(backMs === 0, record.isOurs && backMs >= SKEW_MS, 'queued, deployed and archived in that order');
  if (!record.isOurs) return;
  const created = String(item['created_at']);
  const earliest = instantOf(created) - SKEW_MS;
  // Leaves out `deployed`, whose time may come from the device's clock.
  const own = ONCE.map((timing) => times.get(timing)).filter((at) => typeof at === 'string');
  const isPossible = !own.map(instantOf).some((at) => at < earliest || at > latest);
  hold(isPossible, true, `no time before ${created}, when it was created, and none to come`);
  const unused = activity === 'archived' && !record.mayBeDeployed ? (['deployed'] as const) : [];
  for (const timing of [...future, ...unused])
    hold(!has(timing), true, `no time at which it was ${timing}: it is ${activity}, and never was`);
  for (const [timing, at] of times) {
    const before = record.moments.get(timing);
    if (before !== undefined) hold(typeof at === 'string', hasAny, `still to show when it was ${timing}: ${before}`);
    if (before !== undefined && ONCE.includes(timing) && typeof at === 'string')
      hold(at === before, false, `to be ${timing} at ${before}, as it was shown before`);
    if (typeof at === 'string') record.moments.set(timing, at);
  }
  // Judges only a copy of a creation time with a fraction: equal whole seconds may be chance, and any other early time
  // may come from another node's clock.
  const isExact = /[.,]\d*[1-9]/.test(created);
  for (const timing of ONCE) {
    const notYet = record.notYet.get(timing) ?? 0;
    const isCopied = isExact && times.get(timing) === created && instantOf(created) < notYet;
    const later = new Date(notYet).toISOString();
    hold(!isCopied, true, `not to be ${timing} at ${created}: it was created then, and not ${timing} at ${later}`);
  }
}
