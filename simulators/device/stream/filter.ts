/** The `types` filter (specification section 4.1). */

/** The event types a client wants; undefined means all. */
export type TypeFilter = ReadonlySet<string> | undefined;

/** Comma-separated; a repeated parameter adds to the list. Present but empty is a list of no types, and matches nothing. */
export function parseTypes(values: readonly string[]): TypeFilter {
  if (values.length === 0) return undefined;
  const names = values.flatMap((value) => value.split(',')).map((name) => name.trim());
  return new Set(names.filter((name) => name !== ''));
}

export const wants = (filter: TypeFilter, type: string): boolean => filter === undefined || filter.has(type);
