/** Parts of requests and answers between the form that HTTP has and the one that programs use. */

/** Name and value pairs, encoded here; a string is sent as it is. */
export type Query = Record<string, string | number | readonly string[]> | string;

/** Headers with lower-case names; `undefined` in `change` removes one. */
export function mergeHeaders(
  base: Record<string, string>,
  change: Record<string, string | undefined> = {},
): Record<string, string> {
  const merged = new Map(Object.entries(base).map(([name, value]) => [name.toLowerCase(), value]));
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) merged.delete(name.toLowerCase());
    else merged.set(name.toLowerCase(), value);
  }
  return Object.fromEntries(merged);
}

/** A query with its question mark; empty for none. */
export function queryText(query: Query | undefined): string {
  if (query === undefined) return '';
  if (typeof query === 'string') return query === '' ? '' : `?${query}`;
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map(
      (item) => `${encodeURIComponent(name)}=${encodeURIComponent(String(item))}`,
    ),
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** The bytes or text to send. Sets `content-type` to JSON unless it is there. */
export function bodyOf(body: unknown, headers: Record<string, string>): string | Buffer | undefined {
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array) return Buffer.from(body);
  headers['content-type'] ??= 'application/json';
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** Headers with lower-case names, repeated ones joined with `, `. */
export function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

/** The query of `/events`. Commas stay as they are: they separate the types, and an escaped one would be part of a type. */
export function eventsQuery({ after, types }: { after?: string | number | bigint; types?: readonly string[] }): string {
  const pairs: string[] = [];
  if (after !== undefined) pairs.push(`after=${encodeURIComponent(String(after))}`);
  if (types !== undefined) pairs.push(`types=${types.map(encodeURIComponent).join(',')}`);
  return pairs.join('&');
}
