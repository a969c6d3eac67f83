export interface OrderTerm {
  field: string;
  descending: boolean;
}

/** Drops repeated fields and appends `id`, so that no two rows are equal in the order. */
export function totalOrder(terms: readonly OrderTerm[]): OrderTerm[] {
  const seen = new Set<string>();
  const kept = terms.filter(({ field }) => !seen.has(field) && seen.add(field));
  const end = kept.findIndex(({ field }) => field === 'id');
  return end === -1 ? [...kept, { field: 'id', descending: false }] : kept.slice(0, end + 1);
}

export const NEWEST_FIRST = totalOrder([{ field: 'created_at', descending: true }]);

export type Filters = Readonly<Record<string, readonly string[]>>;

export interface Matching {
  slice(start: number, count: number): number[];
  count(): number;
}

export const knownRows = (seqs: number[]): Matching => ({
  slice: (start, count) => seqs.slice(start, start + count),
  count: () => seqs.length,
});
