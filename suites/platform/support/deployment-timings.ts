/** When a deployment was queued, deployed and archived. The names of these fields are not shown, so any field named after one counts. */
import { isIso8601 } from '../../../harness/contract/shape.ts';

export const TIMINGS = ['queued', 'deployed', 'archived'] as const;
export type Timing = (typeof TIMINGS)[number];

/** A field such as `auto_archived_after` is a plan, not something that happened. */
const PLAN = /(^|_)(auto|after|until|by|scheduled|due|expected|planned|not|be)(_|$)/;
const isTimestamp = (value: unknown): value is string | null =>
  value === null || (typeof value === 'string' && isIso8601(value));

/** The timestamp; `null` if the field is there and empty; `undefined` if no field is named after the timing. */
export function timestampOf(record: unknown, timing: Timing, depth = 2): string | null | undefined {
  if (typeof record !== 'object' || record === null) return undefined;
  const usual = (record as Readonly<Record<string, unknown>>)[`${timing}_at`];
  if (isTimestamp(usual)) return usual;
  let empty: null | undefined;
  for (const [name, value] of Object.entries(record)) {
    if (name.includes(timing) && !PLAN.test(name) && isTimestamp(value)) {
      if (value !== null) return value;
      empty = null;
    }
  }
  if (empty === null || depth === 0) return empty;
  for (const value of Object.values(record)) {
    // An expanded resource has timestamps of its own.
    if (typeof value === 'object' && value !== null && 'object' in value) continue;
    const found = timestampOf(value, timing, depth - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The timestamps that a deployment shows, in the order in which they have to have happened. */
export const timestampsOf = (record: unknown): string[] =>
  TIMINGS.flatMap((timing) => timestampOf(record, timing) ?? []);

export const inOrder = (timestamps: readonly string[]): boolean =>
  timestamps.map((text) => Date.parse(text)).every((time, index, times) => time >= (times[index - 1] ?? 0));
