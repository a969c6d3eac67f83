/** Sort terms of a list, and their mapping to the ranked lists of a collection. */

export interface OrderTerm {
  field: string;
  descending: boolean;
}

/** Orders kept; each can also be read backwards. */
export type KeptOrder = `created_at:${'desc' | 'asc'},id:asc` | 'id:asc';

/** Walks `order`, backwards if `reversed`; with a `facet`, within each of its values in turn. */
export interface OrderPlan {
  order: KeptOrder;
  reversed: boolean;
  facet?: { field: string; descending: boolean };
}

/**
 * Plan for these terms from the kept orders; undefined if the database must sort. Terms end with `id` (a total order).
 */
export function planOrder(terms: readonly OrderTerm[], facets: readonly string[]): OrderPlan | undefined {
  const first = terms[0];
  if (first === undefined) return undefined;
  if (first.field === 'id') return { order: 'id:asc', reversed: first.descending };
  if (first.field === 'created_at') {
    const second = terms[1];
    if (second?.field !== 'id') return undefined;
    // `created_at:x, id:desc` is `created_at:-x, id:asc` read from the end.
    const descending = second.descending ? !first.descending : first.descending;
    return { order: descending ? 'created_at:desc,id:asc' : 'created_at:asc,id:asc', reversed: second.descending };
  }
  if (!facets.includes(first.field)) return undefined;
  const inner = planOrder(terms.slice(1), []);
  return inner === undefined ? undefined : { ...inner, facet: first };
}

/** Drops repeated fields and appends `id`, which makes the order total. */
export function totalOrder(terms: readonly OrderTerm[]): OrderTerm[] {
  const seen = new Set<string>();
  const kept = terms.filter(({ field }) => !seen.has(field) && seen.add(field));
  const end = kept.findIndex(({ field }) => field === 'id');
  return end === -1 ? [...kept, { field: 'id', descending: false }] : kept.slice(0, end + 1);
}

export const NEWEST_FIRST = totalOrder([{ field: 'created_at', descending: true }]);

/** Column to accepted values: AND across columns, OR within one. */
export type Filters = Readonly<Record<string, readonly string[]>>;

export interface Matching {
  slice(start: number, count: number): number[];
  count(): number;
}
