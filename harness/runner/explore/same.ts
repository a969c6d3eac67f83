/** Compares JSON values by meaning, e.g. times in different notations. */
import { isIso8601 } from '../../contract/shape.ts';

const A_SECOND_MS = 1000;

/** Compares times with a tolerance of 1 s, texts in Unicode normal form, and other values exactly. */
export function isSame(one: unknown, other: unknown): boolean {
  if (typeof one === 'string' && typeof other === 'string') {
    if (one === other) return true;
    if (isIso8601(one) && isIso8601(other)) return Math.abs(Date.parse(one) - Date.parse(other)) < A_SECOND_MS;
    return one.normalize() === other.normalize();
  }
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other;
  const [left, right] = [Object.entries(one), Object.entries(other)];
  const given = other as Readonly<Record<string, unknown>>;
  return (
    Array.isArray(one) === Array.isArray(other) &&
    left.length === right.length &&
    left.every(([name, value]) => isSame(value, given[name]))
  );
}

/** True if `value` equals `written`, apart from extra members of objects in `value`. */
export function holds(written: unknown, value: unknown): boolean {
  if (typeof written !== 'object' || typeof value !== 'object' || written === null || value === null)
    return isSame(written, value);
  if (Array.isArray(written) && (!Array.isArray(value) || value.length !== written.length)) return false;
  const given = value as Readonly<Record<string, unknown>>;
  return Object.entries(written).every(([name, each]) => holds(each, given[name]));
}
