/**
 * Finds rows by id, and filtered pages: newest first by an index in memory, because OFFSET in SQL is too slow for a
 * million devices; in any other order by SQL.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { type BaseRow, type Filters, knownRows, type Matching, type OrderTerm, TABLES } from './rows.ts';

/** Column in memory, with a small integer for the value of each row. */
class Facet {
  readonly column: string;
  codes = new Int32Array(1024);
  readonly codeOf = new Map<unknown, number>([[null, 0]]);

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

/** Index in memory; call `add`, `change` or `reload` after each change of the table. */
class RowIndex {
  readonly #facets: Facet[];
  readonly #idOfSeq: StatementSync;
  readonly #everyRow: StatementSync;
  /** Milliseconds since 1970, by row number. */
  #created = new Float64Array(1024);
  /** Row numbers by ascending `created_at`, then descending `id`, so that a new row usually comes last. */
  #rows = new Int32Array(1024);
  size = 0;
  #last = 0;
  readonly #passing = new Map<string, { filter: FacetFilter; rows: Int32Array }>();

  constructor(statements: Statements, table: string, facets: readonly string[]) {
    this.#facets = facets.map((column) => new Facet(column));
    this.#idOfSeq = statements.prepare(`SELECT id FROM ${table} WHERE seq = ?`);
    const columns = ['seq', 'created_at', ...facets].join(', ');
    this.#everyRow = statements.prepare(`SELECT ${columns} FROM ${table} ORDER BY created_at ASC, id DESC`);
    // Reads rows as arrays, because a million row objects take more memory than the whole index.
    this.#everyRow.setReturnArrays(true);
    this.reload();
  }

  get last(): number {
    return this.#last;
  }

  reload(): void {
    [this.size, this.#last] = [0, 0];
    this.#passing.clear();
    const rows = this.#everyRow.iterate() as unknown as Iterable<[number, string, ...unknown[]]>;
    for (const [seq, createdAt, ...values] of rows) this.#place(this.size, seq, createdAt, values);
  }

  add(row: BaseRow): void {
    const created = Date.parse(row.created_at);
    let [low, high] = [0, this.size];
    while (low < high) {
      const middle = (low + high) >> 1;
      const seq = this.#rows[middle] as number;
      const difference = (this.#created[seq] as number) - created;
      const isNewer = difference === 0 ? String(this.#idOfSeq.get(seq)?.['id']) < row.id : difference > 0;
      if (isNewer) high = middle;
      else low = middle + 1;
    }
    const values = this.#facets.map(({ column }) => valueIn(row, column));
    this.#place(low, row.seq, row.created_at, values);
    for (const [key, { filter }] of this.#passing) if (this.passes(row.seq, filter)) this.#passing.delete(key);
  }

  /** Updates the facets of a changed row; its `id` and `created_at` never change. */
  change(row: BaseRow): void {
    for (const facet of this.#facets) {
      const before = facet.codes[row.seq];
      facet.set(row.seq, valueIn(row, facet.column));
      if (facet.codes[row.seq] === before) continue;
      for (const [key, { filter }] of this.#passing)
        if (filter.some((part) => part.facet === facet)) this.#passing.delete(key);
    }
  }

  /** Filter by the columns in the index, without all others; undefined if no row ever had a wanted value. */
  filterOf(filters: Filters): FacetFilter | undefined {
    const filter: FacetFilter[number][] = [];
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

  slice(start: number, count: number, filter: FacetFilter): number[] {
    const rows = this.rowsOf(filter);
    const end = Math.max(0, rows.length - start);
    return Array.from(rows.subarray(Math.max(0, end - count), end)).reverse();
  }

  rowsOf(filter: FacetFilter): Int32Array {
    const rows = this.#rows.subarray(0, this.size);
    if (filter.length === 0) return rows;
    const key = filter.map(({ facet, codes }) => `${facet.column}:${codes.join('|')}`).join(' ');
    const kept = this.#passing.get(key);
    if (kept !== undefined) return kept.rows;
    // Limits the filter results in memory to 32, because each takes four bytes per row.
    if (this.#passing.size >= 32) this.#passing.clear();
    const passing = rows.filter((seq) => this.passes(seq, filter));
    this.#passing.set(key, { filter, rows: passing });
    return passing;
  }

  #place(at: number, seq: number, createdAt: string, values: readonly unknown[]): void {
    this.#created = withRoom(this.#created, seq + 1);
    this.#created[seq] = Date.parse(createdAt);
    for (const [index, facet] of this.#facets.entries()) facet.set(seq, values[index]);
    this.#rows = withRoom(this.#rows, this.size + 1);
    this.#rows.copyWithin(at + 1, at, this.size);
    this.#rows[at] = seq;
    this.size += 1;
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

type Defer = (change: () => void) => void;
type Statements = Pick<DatabaseSync, 'prepare'>;

export type Values<Row> = Partial<Record<keyof Row & string, SQLInputValue>>;

export class Collection<Row extends BaseRow> {
  readonly #table: string;
  readonly #selective: readonly string[];
  readonly #statements: Statements;
  readonly #defer: Defer;
  readonly #index: RowIndex;
  readonly #columns: readonly string[];
  readonly #insertion: StatementSync;
  #last: number;
  /** Called with `seq` after an insert or update of one row, without `seq` after a change of many rows. */
  onChange: (seq?: number) => void = () => {};

  constructor(statements: Statements, kind: ResourceKind, defer: Defer) {
    const { columns, facets, selective } = TABLES[kind];
    this.#statements = statements;
    this.#table = RESOURCES[kind].collection;
    this.#selective = selective;
    this.#defer = defer;
    this.#index = new RowIndex(statements, this.#table, facets);
    this.#last = this.#index.last;
    this.#columns = ['seq', ...Object.keys(columns)];
    const places = this.#columns.map(() => '?').join(', ');
    this.#insertion = statements.prepare(`INSERT INTO ${this.#table} (${this.#columns.join(', ')}) VALUES (${places})`);
  }

  get size(): number {
    return this.#index.size;
  }

  get last(): number {
    return this.#last;
  }

  byId(id: string): Row | undefined {
    return this.#statements.prepare(`SELECT * FROM ${this.#table} WHERE id = ?`).get(id) as Row | undefined;
  }

  bySeq(seq: number): Row | undefined {
    return this.#statements.prepare(`SELECT * FROM ${this.#table} WHERE seq = ?`).get(seq) as Row | undefined;
  }

  /** Rows in order of creation; slow for columns without an index. */
  where(values: Values<Row>): Row[] {
    // `IS` only for null, because SQLite uses no partial index for `IS ?`.
    const conditions = Object.entries(values).map(([name, value]) => `${name} ${value === null ? 'IS' : '='} ?`);
    return this.select(conditions.join(' AND '), Object.values(values) as SQLInputValue[]);
  }

  /** Rows in order of creation. `condition`: raw SQL, which must not contain text from clients. */
  select(condition: string, values: readonly SQLInputValue[]): Row[] {
    const sql = `SELECT * FROM ${this.#table} WHERE ${condition} ORDER BY seq`;
    return this.#statements.prepare(sql).all(...values) as unknown as Row[];
  }

  first(values: Values<Row>): Row | undefined {
    return this.where(values)[0];
  }

  insert(build: (seq: number) => Row): Row {
    const row = build(this.#last + 1);
    this.#add(row);
    this.#defer(() => {
      this.#index.add(row);
      this.onChange(row.seq);
    });
    return row;
  }

  load(count: number, build: (seq: number) => Row): void {
    const first = this.#last + 1;
    for (let seq = first; seq < first + count; seq++) this.#add(build(seq));
    this.#defer(() => {
      this.#index.reload();
      this.onChange();
    });
  }

  reload(): void {
    this.#defer(() => {
      this.#index.reload();
      this.#last = this.#index.last;
      this.onChange();
    });
  }

  update(row: Row, changes: Partial<Row>): Row {
    const columns = Object.keys(changes);
    if (columns.length === 0) return row;
    const assignments = columns.map((column) => `${column} = ?`).join(', ');
    const statement = this.#statements.prepare(`UPDATE ${this.#table} SET ${assignments} WHERE seq = ?`);
    statement.run(...(Object.values(changes) as SQLInputValue[]), row.seq);
    const updated = { ...row, ...changes };
    this.#defer(() => {
      this.#index.change(updated);
      this.onChange(row.seq);
    });
    return updated;
  }

  forgetUncommitted(): void {
    this.#last = this.#index.last;
  }

  /** `terms` must end with `id`. */
  query(filters: Filters, terms: readonly OrderTerm[]): Matching {
    const filter = this.#index.filterOf(filters);
    if (filter === undefined) return knownRows([]);
    const count = () => this.#index.rowsOf(filter).length;
    const few = Object.keys(filters).filter((column) => column === 'id' || this.#selective.includes(column));
    if (few.length > 0)
      return knownRows(this.#seqs(filters, few, terms).filter((seq) => this.#index.passes(seq, filter)));
    const [first, second] = terms;
    const isNewestFirst = first?.field === 'created_at' && first.descending;
    if (isNewestFirst && second?.field === 'id' && !second.descending)
      return { count, slice: (start, size) => this.#index.slice(start, size, filter) };
    return {
      count,
      // Limits the offset to the last row, because SQLite refuses an offset above 2^63.
      slice: (start, size) => this.#seqs(filters, Object.keys(filters), terms, [size, Math.min(start, this.#last)]),
    };
  }

  #add(row: Row): void {
    const values = this.#columns.map((column) => (row as unknown as Record<string, SQLInputValue>)[column] ?? null);
    this.#insertion.run(...values);
    this.#last = row.seq;
  }

  #seqs(filters: Filters, columns: readonly string[], terms: readonly OrderTerm[], page: number[] = []): number[] {
    const conditions = columns.map((column) => `${column} IN (SELECT value FROM json_each(?))`);
    const order = terms.map(({ field, descending }) => `${field} ${descending ? 'DESC' : 'ASC'}`);
    const sql =
      `SELECT seq FROM ${this.#table} WHERE ${['TRUE', ...conditions].join(' AND ')} ` +
      `ORDER BY ${order.join(', ')} ${page.length > 0 ? 'LIMIT ? OFFSET ?' : ''}`;
    return this.#statements
      .prepare(sql)
      .all(...columns.map((column) => JSON.stringify(filters[column])), ...page)
      .map((row) => Number(row['seq']));
  }
}
