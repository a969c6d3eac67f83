/** Sort terms of a list, and how they map onto the ranked lists that a collection keeps. */

import type { BaseRow } from './rows.ts';

export interface OrderTerm {
  field: string;
  descending: boolean;
}

/** The orders that are kept; each is also read backwards. */
export const KEPT_ORDERS = ['created_at:desc,id:asc', 'created_at:asc,id:asc', 'id:asc'] as const;
export type KeptOrder = (typeof KEPT_ORDERS)[number];

/** Walks `order`, backwards when `reversed`; within each value of `facet` in turn when there is one. */
export interface OrderPlan {
  order: KeptOrder;
  reversed: boolean;
  facet?: { field: string; descending: boolean };
}

/**
 * How to serve these terms from the kept orders; `undefined` when the database has to sort. Terms end with `id` (a
 * total order).
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

/** Drops repeated fields and adds `id` at the end, which makes the order total. */
export function totalOrder(terms: readonly OrderTerm[]): OrderTerm[] {
  const seen = new Set<string>();
  const kept = terms.filter(({ field }) => !seen.has(field) && seen.add(field));
  const end = kept.findIndex(({ field }) => field === 'id');
  return end === -1 ? [...kept, { field: 'id', descending: false }] : kept.slice(0, end + 1);
}

// What a collection needs of an index in memory. The database alone gives the same answers with `ORDER BY … LIMIT …
// OFFSET` (`store.test.ts` compares the two), but walks over every row before the offset: too slow for a million
// devices.

/** Column to accepted values: AND across columns, OR within one. */
export type Filters = Readonly<Record<string, readonly string[]>>;

/** Matching items in an order, by position. */
export interface Matching {
  slice(start: number, count: number): number[];
  count(): number;
}

/** The rows that pass the filters on indexed columns. */
export interface Selection {
  passes(seq: number): boolean;
  count(): number;
  /** The rows in that order; `undefined` when the index does not keep it. `terms` are total (they end with `id`). */
  inOrder(terms: readonly OrderTerm[]): Matching | undefined;
}

/** Row numbers of one table by position in an order. It follows the table through `add`, `change` and `reload`. */
export interface PageIndex {
  /** Number of rows. */
  readonly size: number;
  /** Number of the newest row; 0 when there is none. */
  readonly last: number;
  /** Reads everything from the table again. */
  reload(): void;
  /** A row that is in the table now. */
  add(row: BaseRow): void;
  /** A row whose columns have changed; `id` and `created_at` never do. */
  change(row: BaseRow): void;
  /** Ignores filters on columns that are not indexed. `undefined` when no row can match. */
  select(filters: Filters): Selection | undefined;
}
