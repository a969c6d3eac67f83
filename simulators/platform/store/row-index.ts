/** Index of a table in memory, because OFFSET in SQL is too slow for a million devices. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Filters } from './order.ts';
import type { BaseRow, TableSpec } from './rows.ts';

const NONE = 0;
/** Maximum number of cached filter results; a result takes four bytes per row. */
const KEPT_FILTERS = 32;

/** Column in memory: stores a small integer for the value of each row. */
class Facet {
  readonly column: string;
  codes = new Int32Array(1024);
  readonly codeOf = new Map<unknown, number>([[null, NONE]]);

  constructor(column: string) {
    this.column = column;
  }

  set(seq: number, value: unknown): void {
    const code = this.codeOf.get(value) ?? this.codeOf.size;
    this.codeOf.set(value, code);
    this.codes = withRoom(this.codes, seq + 1);
    this.codes[seq] = code;
  }
}

type FacetFilter = readonly { facet: Facet; codes: readonly number[] }[];

/** Sorts and filters rows; call `add`, `change` or `reload` after each change of the table. */
export class RowIndex {
  readonly #database: DatabaseSync;
  readonly #spec: TableSpec;
  readonly #facets: Facet[];
  readonly #idOfSeq: StatementSync;
  /** Time of creation by row number, in milliseconds since 1970. */
  #created = new Float64Array(1024);
  /** Row numbers by ascending `created_at`, then descending `id`, so that a new row usually comes last. */
  #rows = new Int32Array(1024);
  #size = 0;
  #last = 0;
  readonly #passing = new Map<string, { filter: FacetFilter; rows: Int32Array }>();

  constructor(database: DatabaseSync, spec: TableSpec) {
    this.#database = database;
    this.#spec = spec;
    this.#facets = spec.facets.map((column) => new Facet(column));
    this.#idOfSeq = database.prepare(`SELECT id FROM ${spec.table} WHERE seq = ?`);
    this.reload();
  }

  get size(): number {
    return this.#size;
  }

  get last(): number {
    return this.#last;
  }

  reload(): void {
    [this.#size, this.#last] = [0, 0];
    this.#passing.clear();
    const { table, facets } = this.#spec;
    const columns = ['seq', 'created_at', ...facets].join(', ');
    const rows = this.#database.prepare(`SELECT ${columns} FROM ${table} ORDER BY created_at ASC, id DESC`);
    // Reads rows as arrays, because a million row objects take more memory than the whole index.
    rows.setReturnArrays(true);
    for (const [seq, createdAt, ...values] of rows.iterate() as unknown as Iterable<[number, string, ...unknown[]]>)
      this.#place(this.#size, seq, createdAt, values);
  }

  add(row: BaseRow): void {
    const created = Date.parse(row.created_at);
    let [low, high] = [0, this.#size];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#isNewer(this.#rows[middle] as number, created, row.id)) high = middle;
      else low = middle + 1;
    }
    const values = this.#facets.map(({ column }) => valueIn(row, column));
    this.#place(low, row.seq, row.created_at, values);
    for (const [key, { filter }] of this.#passing) if (this.passes(row.seq, filter)) this.#passing.delete(key);
  }

  /** Updates the index after a change of a row, whose `id` and `created_at` never change. */
  change(row: BaseRow): void {
    for (const facet of this.#facets) {
      const before = facet.codes[row.seq];
      facet.set(row.seq, valueIn(row, facet.column));
      if (facet.codes[row.seq] === before) continue;
      for (const [key, { filter }] of this.#passing)
        if (filter.some((part) => part.facet === facet)) this.#passing.delete(key);
    }
  }

  /** Returns undefined if no row ever had a wanted value. Ignores columns that the index lacks. */
  filterOf(filters: Filters): FacetFilter | undefined {
    const filter: { facet: Facet; codes: number[] }[] = [];
    for (const facet of this.#facets) {
      const values = filters[facet.column];
      if (values === undefined) continue;
      const codes = [...new Set(values)].flatMap((value) => facet.codeOf.get(value) ?? []);
      if (codes.length === 0) return undefined;
      filter.push({ facet, codes });
    }
    return filter;
  }

  passes(seq: number, filter: FacetFilter): boolean {
    return filter.every(({ facet, codes }) => codes.includes(facet.codes[seq] as number));
  }

  count(filter: FacetFilter): number {
    return this.#rowsOf(filter).length;
  }

  slice(start: number, count: number, filter: FacetFilter): number[] {
    const rows = this.#rowsOf(filter);
    const end = Math.max(0, rows.length - start);
    return Array.from(rows.subarray(Math.max(0, end - count), end)).reverse();
  }

  #rowsOf(filter: FacetFilter): Int32Array {
    const rows = this.#rows.subarray(0, this.#size);
    if (filter.length === 0) return rows;
    const key = filter.map(({ facet, codes }) => `${facet.column}:${codes.join('|')}`).join(' ');
    const kept = this.#passing.get(key);
    if (kept !== undefined) return kept.rows;
    if (this.#passing.size >= KEPT_FILTERS) this.#passing.clear();
    const passing = rows.filter((seq) => this.passes(seq, filter));
    this.#passing.set(key, { filter, rows: passing });
    return passing;
  }

  #isNewer(seq: number, created: number, id: string): boolean {
    const difference = (this.#created[seq] as number) - created;
    return difference === 0 ? String(this.#idOfSeq.get(seq)?.['id']) < id : difference > 0;
  }

  #place(at: number, seq: number, createdAt: string, values: readonly unknown[]): void {
    this.#created = withRoom(this.#created, seq + 1);
    this.#created[seq] = Date.parse(createdAt);
    for (const [index, facet] of this.#facets.entries()) facet.set(seq, values[index]);
    this.#rows = withRoom(this.#rows, this.#size + 1);
    this.#rows.copyWithin(at + 1, at, this.#size);
    this.#rows[at] = seq;
    this.#size += 1;
    this.#last = Math.max(this.#last, seq);
  }
}

const valueIn = (row: object, column: string): unknown => (row as Record<string, unknown>)[column];

function withRoom<N extends Int32Array | Float64Array>(numbers: N, length: number): N {
  if (length <= numbers.length) return numbers;
  const grown = new (numbers.constructor as new (length: number) => N)(Math.max(length, numbers.length * 2));
  grown.set(numbers);
  return grown;
}
