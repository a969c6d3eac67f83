/** Integers of a control's answer as they are written: event ids may lie beyond 2^53, where a number would be another one. */

/** The same, with bigints for the integers that no number holds. */
export type Exact<T> = { [K in keyof T]: T[K] extends number ? T[K] | bigint : T[K] };

/** Like `JSON.parse`; throws what that throws. */
export const parseExact = (text: string): unknown =>
  JSON.parse(text, (_key: string, value: unknown, details?: { source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(details?.source ?? '')
      ? BigInt(details?.source ?? '')
      : value,
  );
