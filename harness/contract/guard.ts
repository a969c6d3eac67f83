/** The guard that belongs to a vocabulary. On its own, so that what needs no schemas does not load the schema library. */
export function guardOf<const V extends readonly string[]>(values: V): (value: unknown) => value is V[number] {
  const known = new Set<unknown>(values);
  return (value): value is V[number] => known.has(value);
}
