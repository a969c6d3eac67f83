/** Fallbacks for errors, invalid JSON and missing map entries. */

/** Result of `work`, or `fallback` if `work` throws. */
export function orElse<T>(work: () => T, fallback: T): T {
  try {
    return work();
  } catch {
    return fallback;
  }
}

/** Undefined for invalid JSON. */
export const jsonOf = (text: string | Buffer): unknown => orElse(() => JSON.parse(String(text)), undefined);

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function parseObject(text: string | Buffer = ''): Record<string, unknown> | undefined {
  const value = jsonOf(text);
  return isObject(value) ? value : undefined;
}

/** Value of `key` in a map, made at the first call. Replaces Map.getOrInsertComputed, which Node 22 lacks. */
export function madeOnce<K, V>(
  map: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => V,
): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
