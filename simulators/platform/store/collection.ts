/** Table of the database: finds rows by id, and returns filtered pages in any order. */

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Filters, Matching, OrderTerm } from './order.ts';
import { RowIndex } from './row-index.ts';
import type { BaseRow, TableSpec } from './rows.ts';

type Defer = (change: () => void) => void;

export type Values<Row> = Partial<Record<keyof Row & string, SQLInputValue>>;

export class Collection<Row extends BaseRow> {
  readonly #spec: TableSpec;
  readonly #database: DatabaseSync;
  readonly #defer: Defer;
  readonly #index: RowIndex;
  readonly #statements = new Map<string, StatementSync>();
  readonly #columns: readonly string[];
  readonly #insertion: StatementSync;
  #last: number;
  /** Called after a row was inserted or updated, or without `seq` after many rows have changed. */
  onChange: (seq?: number) => void = () => {};

  constructor(database: DatabaseSync, spec: TableSpec, defer: Defer) {
    this.#database = database;
    this.#spec = spec;
    this.#defer = defer;
    this.#index = new RowIndex(database, spec);
    this.#last = this.#index.last;
    this.#columns = ['seq', ...Object.keys(spec.columns)];
    const places = this.#columns.map(() => '?').join(', ');
    this.#insertion = database.prepare(`INSERT INTO ${spec.table} (${this.#columns.join(', ')}) VALUES (${places})`);
  }

  get size(): number {
    return this.#index.size;
  }

  get last(): number {
    return this.#last;
  }

  byId(id: string): Row | undefined {
    return this.#prepare(`SELECT * FROM ${this.#spec.table} WHERE id = ?`).get(id) as Row | undefined;
  }

  bySeq(seq: number): Row | undefined {
    return this.#prepare(`SELECT * FROM ${this.#spec.table} WHERE seq = ?`).get(seq) as Row | undefined;
  }

  /** Returns matching rows in order of creation; slow for columns without an index. */
  where(values: Values<Row>): Row[] {
    // Uses `IS` only for null, because SQLite uses no partial index for `IS ?`.
    const conditions = Object.entries(values).map(([name, value]) => `${name} ${value === null ? 'IS' : '='} ?`);
    return this.select(conditions.join(' AND '), Object.values(values) as SQLInputValue[]);
  }

  /** Returns rows in order of creation. `condition`: raw SQL, which must not contain text from clients. */
  select(condition: string, values: readonly SQLInputValue[]): Row[] {
    const sql = `SELECT * FROM ${this.#spec.table} WHERE ${condition} ORDER BY seq`;
    return this.#prepare(sql).all(...values) as unknown as Row[];
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
    const statement = this.#prepare(`UPDATE ${this.#spec.table} SET ${assignments} WHERE seq = ?`);
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

  /** Returns the rows that match `filters`, sorted by `terms`, which must end with `id`. */
  query(filters: Filters, terms: readonly OrderTerm[]): Matching {
    const filter = this.#index.filterOf(filters);
    if (filter === undefined) return NOTHING;
    const count = () => this.#index.count(filter);
    const few = Object.keys(filters).filter((column) => column === 'id' || this.#spec.selective.includes(column));
    if (few.length > 0) {
      const all = this.#seqs(filters, few, terms);
      const seqs = all.filter((seq) => this.#index.passes(seq, filter));
      return { count: () => seqs.length, slice: (start, size) => seqs.slice(start, start + size) };
    }
    const [first, second] = terms;
    const isNewestFirst = first?.field === 'created_at' && first.descending;
    if (isNewestFirst && second?.field === 'id' && !second.descending)
      return { count, slice: (start, size) => this.#index.slice(start, size, filter) };
    // Limits the offset to the last row, because SQLite refuses an offset above 2^63.
    const slice = (start: number, size: number): number[] =>
      this.#seqs(filters, Object.keys(filters), terms, [size, Math.min(start, this.#last)]);
    return { count, slice };
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
      `SELECT seq FROM ${this.#spec.table} WHERE ${['TRUE', ...conditions].join(' AND ')} ` +
      `ORDER BY ${order.join(', ')} ${page.length > 0 ? 'LIMIT ? OFFSET ?' : ''}`;
    return this.#prepare(sql)
      .all(...columns.map((column) => JSON.stringify(filters[column])), ...page)
      .map((row) => Number(row['seq']));
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

const NOTHING: Matching = { slice: () => [], count: () => 0 };
