/** The moments that a deployment reports. Their field names are not shown, so any field named after the moment counts. */
import { isIso8601 } from '../../../harness/contract/shape.ts';

export type Moment = 'queued' | 'deployed' | 'archived';

/** A plan (`auto_archived_after`) is no moment that was. */
const TO_COME = /(^|_)(auto|after|until|by|scheduled|due|expected|planned|not|be)(_|$)/;
const isMoment = (value: unknown): value is string | null =>
  value === null || (typeof value === 'string' && isIso8601(value));

/** The timestamp; `null` when the field is there and empty; `undefined` when no field is named after the moment. */
export function momentOf(record: unknown, moment: Moment, depth = 2): string | null | undefined {
  if (typeof record !== 'object' || record === null) return undefined;
  const usual = (record as Readonly<Record<string, unknown>>)[`${moment}_at`];
  if (isMoment(usual)) return usual;
  let empty: null | undefined;
  for (const [name, value] of Object.entries(record)) {
    if (name.includes(moment) && !TO_COME.test(name) && isMoment(value)) {
      if (value !== null) return value;
      empty = null;
    }
  }
  if (empty === null || depth === 0) return empty;
  for (const value of Object.values(record)) {
    // Expanded resources have moments of their own.
    if (typeof value === 'object' && value !== null && 'object' in value) continue;
    const found = momentOf(value, moment, depth - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}
