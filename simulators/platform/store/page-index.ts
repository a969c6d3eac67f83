/**
 * What a collection needs of an index in memory. The database alone gives the same answers with `ORDER BY … LIMIT … OFFSET`
 * (`store.test.ts` compares the two), but walks over every row before the offset: too slow for a million devices.
 */
import type { OrderTerm } from './order.ts';
import type { BaseRow } from './rows.ts';

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
