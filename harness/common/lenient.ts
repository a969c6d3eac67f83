/** Fallbacks for errors, invalid JSON and missing map entries. */

export function orElse<T>(work: () => T, fallback: T): T {
  try {
    return work();
  } catch {
    return fallback;
  }
}

export const jsonOf = (text: string | Buffer): unknown => orElse(() => JSON.parse(String(text)), undefined);

/** Nesting levels and values of JSON that is read; bounds the memory of a parsed text. */
const DEEPEST_JSON = 500;
const MOST_VALUES = 250_000;

/** Undefined for invalid JSON, and above the limits of `isModest`. */
export const parseJson = (text: string): unknown => (isModest(text) ? jsonOf(text) : undefined);

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** False above the limits of nesting and values, where `parseJson` reads nothing. */
export function isModest(text: string): boolean {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length && depth <= DEEPEST_JSON && values <= MOST_VALUES; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) at = endOfString(text, at);
    else if (sign === COMMA) values += 1;
    else if (CLOSING.has(sign)) depth -= 1;
    else if (OPENING.has(sign)) {
      depth += 1;
      values += 1;
    }
  }
  return depth <= DEEPEST_JSON && values <= MOST_VALUES;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === BACKSLASH) at += 1;
    else if (sign === QUOTE) return at;
  }
  return text.length;
}

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
