/** One table: rows by id, and pages of it in any order, filtered, at any offset. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Filters, Matching, OrderTerm, PageIndex, Selection } from './order.ts';
import { RowIndex } from './row-index.ts';
import type { BaseRow, TableSpec } from './rows.ts';

/** Schedules a change to memory for after the commit. */
type Defer = (change: () => void) => void;

type Values<Row> = Partial<Record<keyof Row & string, SQLInputValue>>;

/** The rows of one resource. */
export class Collection<Row extends BaseRow> {
  readonly #spec: TableSpec;
  readonly #database: DatabaseSync;
  readonly #defer: Defer;
  readonly #index: PageIndex;
  readonly #statements = new Map<string, StatementSync>();
  /** Statements of `newest` that are not being read. */
  readonly #unused = new Map<string, StatementSync[]>();
  readonly #columns: readonly string[];
  readonly #insertion: StatementSync;
  #last: number;
  /** Called with the row number after a row was added or changed; with none when many were. */
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

  /** Number of rows. */
  get size(): number {
    return this.#index.size;
  }

  /** Number of the newest row; 0 when there is none. */
  get last(): number {
    return this.#last;
  }

  byId(id: string): Row | undefined {
    return this.#prepare(`SELECT * FROM ${this.#spec.table} WHERE id = ?`).get(id) as Row | undefined;
  }

  bySeq(seq: number): Row | undefined {
    return this.#prepare(`SELECT * FROM ${this.#spec.table} WHERE seq = ?`).get(seq) as Row | undefined;
  }

  /** Rows whose columns have these values, in order of creation. Quick only where the columns are indexed. */
  where(values: Values<Row>): Row[] {
    // `= ?` can use a partial index, `IS ?` cannot.
    const conditions = Object.entries(values).map(([name, value]) => `${name} ${value === null ? 'IS' : '='} ?`);
    const sql = `SELECT * FROM ${this.#spec.table} WHERE ${conditions.join(' AND ')} ORDER BY seq`;
    return this.#prepare(sql).all(...(Object.values(values) as SQLInputValue[])) as unknown as Row[];
  }

  /** Rows for which this SQL holds, one after the other, the newest first. `condition` is never made of anything from a client. */
  *newest(condition: string, values: readonly SQLInputValue[]): Generator<Row, undefined> {
    // A statement of its own, which a later call takes over: rows may be read in turns, or left unread.
    const sql = `SELECT * FROM ${this.#spec.table} WHERE ${condition} ORDER BY seq DESC`;
    const unused = this.#unused.get(sql) ?? [];
    this.#unused.set(sql, unused);
    const statement = unused.pop() ?? this.#database.prepare(sql);
    try {
      for (const row of statement.iterate(...values)) yield row as unknown as Row;
    } finally {
      unused.push(statement);
    }
  }

  first(values: Values<Row>): Row | undefined {
    return this.where(values)[0];
  }

  /** Adds a row under the next number, which `build` is given. */
  insert(build: (seq: number) => Row): Row {
    const row = build(this.#last + 1);
    this.#add(row);
    this.#defer(() => {
      this.#index.add(row);
      this.onChange(row.seq);
    });
    return row;
  }

  /** Adds many rows at once, and reads the index from the table again afterwards. */
  load(count: number, build: (seq: number) => Row): void {
    const first = this.#last + 1;
    for (let seq = first; seq < first + count; seq++) this.#add(build(seq));
    this.#defer(() => {
      this.#index.reload();
      this.onChange();
    });
  }

  /** The table was replaced: reads the index from it again. */
  reload(): void {
    this.#defer(() => {
      this.#index.reload();
      this.#last = this.#index.last;
      this.onChange();
    });
  }

  update(row: Row, changes: Partial<Omit<Row, keyof BaseRow>>): Row {
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

  /** After a rollback: frees the numbers of rows that were not stored. */
  forgetUncommitted(): void {
    this.#last = this.#index.last;
  }

  /** The matching items in that order. `terms` are total (they end with `id`). */
  query(filters: Filters, terms: readonly OrderTerm[]): Matching {
    const { selective } = this.#spec;
    const selection = this.#index.select(filters);
    if (selection === undefined) return NOTHING;
    const few = Object.keys(filters).filter((column) => column === 'id' || selective.includes(column));
    if (few.length > 0) return this.#few(filters, few, selection, terms);
    return selection.inOrder(terms) ?? this.#sorted(filters, selection, terms);
  }

  /** A filter on an indexed column yields few rows: sort those. */
  #few(filters: Filters, columns: string[], { passes }: Selection, terms: readonly OrderTerm[]): Matching {
    const sql = `SELECT seq FROM ${this.#spec.table} ${whereIn(columns)} ORDER BY ${orderBy(terms)}`;
    const seqs = this.#seqs(sql, valuesIn(filters, columns)).filter(passes);
    return { count: () => seqs.length, slice: (start, size) => seqs.slice(start, start + size) };
  }

  /** Any other order: a sort by the database. */
  #sorted(filters: Filters, { count }: Selection, terms: readonly OrderTerm[]): Matching {
    const columns = Object.keys(filters);
    const sql = `SELECT seq FROM ${this.#spec.table} ${whereIn(columns)} ORDER BY ${orderBy(terms)} LIMIT ? OFFSET ?`;
    const values = valuesIn(filters, columns);
    return {
      count,
      // SQLite has no offset beyond 2^63; all offsets beyond the last row give the same empty page.
      slice: (start, size) => this.#seqs(sql, [...values, size, Math.min(start, this.#last)]),
    };
  }

  #add(row: Row): void {
    const values = this.#columns.map((column) => (row as unknown as Record<string, SQLInputValue>)[column] ?? null);
    this.#insertion.run(...values);
    this.#last = row.seq;
  }

  #seqs(sql: string, values: SQLInputValue[]): number[] {
    return this.#prepare(sql)
      .all(...values)
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

const whereIn = (columns: readonly string[]): string =>
  columns.length === 0
    ? ''
    : `WHERE ${columns.map((column) => `${column} IN (SELECT value FROM json_each(?))`).join(' AND ')}`;

const valuesIn = (filters: Filters, columns: readonly string[]): string[] =>
  columns.map((column) => JSON.stringify(filters[column]));

const orderBy = (terms: readonly OrderTerm[]): string =>
  terms.map(({ field, descending }) => `${field} ${descending ? 'DESC' : 'ASC'}`).join(', ');
