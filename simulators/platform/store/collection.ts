/** One table: rows by id, and filtered pages in any order at any offset. */

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { type Filters, type KeptOrder, type Matching, type OrderPlan, type OrderTerm, planOrder } from './order.ts';
import { compareText, Facet, type FacetFilter, RankedList } from './ranks.ts';
import type { BaseRow, TableSpec } from './rows.ts';

/**
 * Index of a table in memory: its facets, and its rows by rank in the supported orders. The database alone gives the
 * same answers with `ORDER BY … LIMIT … OFFSET` (`store.test.ts` compares them), but reads every row before the offset:
 * too slow for a million devices. The index follows the table through `add`, `change` and `reload`.
 */
class RowIndex {
  readonly #database: DatabaseSync;
  readonly #spec: TableSpec;
  readonly #facets: Facet[];
  readonly #idOfSeq: StatementSync;
  readonly #lists = new Map<KeptOrder, RankedList>();
  #created = new Float64Array(1024);
  #last = 0;

  constructor(database: DatabaseSync, spec: TableSpec) {
    this.#database = database;
    this.#spec = spec;
    this.#facets = spec.facets.map((column) => new Facet(column));
    this.#idOfSeq = database.prepare(`SELECT id FROM ${spec.table} WHERE seq = ?`);
    this.reload();
  }

  get size(): number {
    return this.#newestFirst().size;
  }

  /** Number of the newest row; 0 if empty. */
  get last(): number {
    return this.#last;
  }

  reload(): void {
    const { table, facets } = this.#spec;
    this.#last = 0;
    const { count } = this.#database.prepare(`SELECT count(*) AS count FROM ${table}`).get() as { count: number };
    const sorted = new Int32Array(count);
    let index = 0;
    const columns = ['seq', 'created_at', ...facets].join(', ');
    const rows = this.#database.prepare(`SELECT ${columns} FROM ${table} ORDER BY created_at DESC, id ASC`);
    for (const [seq, createdAt, ...values] of arrays<[number, string, ...unknown[]]>(rows)) {
      sorted[index++] = seq;
      this.#remember(seq, createdAt);
      for (const [at, facet] of this.#facets.entries()) facet.set(seq, textOrNull(values[at]));
    }
    const list = new RankedList(this.#comparator('created_at:desc,id:asc'), this.#facets);
    list.load(sorted);
    this.#lists.clear();
    this.#lists.set('created_at:desc,id:asc', list);
  }

  add(row: BaseRow): void {
    this.#remember(row.seq, row.created_at);
    for (const facet of this.#facets) facet.set(row.seq, facetValue(row, facet.column));
    for (const list of this.#lists.values()) list.insert(row.seq);
  }

  /** Call after columns of a row changed; `id` and `created_at` never do. */
  change(row: BaseRow): void {
    for (const [index, facet] of this.#facets.entries()) {
      const from = facet.codeOf(row.seq);
      facet.set(row.seq, facetValue(row, facet.column));
      if (facet.codeOf(row.seq) === from) continue;
      for (const list of this.#lists.values()) list.recode(row.seq, index, from);
    }
  }

  /** Rows that pass the filters on indexed columns; ignores other filters. Undefined if no row can match. */
  select(filters: Filters) {
    const filter = this.#filter(filters);
    if (filter === undefined) return undefined;
    const list = this.#newestFirst();
    return {
      passes: (seq: number): boolean => list.passes(seq, filter),
      count: (): number => list.count(filter),
      /** Rows in that order; undefined if the index does not keep it. `terms` are total (they end with `id`). */
      inOrder: (terms: readonly OrderTerm[]): Matching | undefined => {
        const plan = planOrder(terms, this.#spec.facets);
        return plan && this.#ranked(plan, filter);
      },
    };
  }

  /** Facets among the filters; undefined for a value that no row ever had. */
  #filter(filters: Filters): FacetFilter | undefined {
    const filter: { facet: number; codes: number[] }[] = [];
    for (const [index, facet] of this.#facets.entries()) {
      const values = filters[facet.column];
      if (values === undefined) continue;
      const codes = [...new Set(values)].map((value) => facet.find(value)).filter((code) => code !== undefined);
      if (codes.length === 0) return undefined;
      filter.push({ facet: index, codes });
    }
    return filter;
  }

  #ranked(plan: OrderPlan, filter: FacetFilter): Matching {
    const list = this.#list(plan.order);
    const { facet } = plan;
    const count = () => list.count(filter);
    if (facet === undefined) return { count, slice: (start, size) => list.slice(start, size, filter, plan.reversed) };
    const index = this.#facets.findIndex(({ column }) => column === facet.field);
    const codes = (this.#facets[index] as Facet).entries().map(([, code]) => code);
    if (facet.descending) codes.reverse();
    const slice = (start: number, size: number) => {
      const found: number[] = [];
      let skip = start;
      for (const code of codes) {
        if (found.length >= size) break;
        const within = [...filter, { facet: index, codes: [code] }];
        const here = list.count(within);
        if (skip < here) found.push(...list.slice(skip, size - found.length, within, plan.reversed));
        skip = Math.max(0, skip - here);
      }
      return found;
    };
    return { count, slice };
  }

  #newestFirst(): RankedList {
    return this.#list('created_at:desc,id:asc');
  }

  /** Builds every order but the default one on first use. */
  #list(order: KeptOrder): RankedList {
    let list = this.#lists.get(order);
    if (list === undefined) {
      list = new RankedList(this.#comparator(order), this.#facets);
      list.load(order === 'id:asc' ? this.#allById() : this.#oldestFirst());
      this.#lists.set(order, list);
    }
    return list;
  }

  #allById(): Int32Array {
    const seqs = new Int32Array(this.size);
    let index = 0;
    const rows = this.#database.prepare(`SELECT seq FROM ${this.#spec.table} ORDER BY id`);
    for (const [seq] of arrays<[number]>(rows)) seqs[index++] = seq;
    return seqs;
  }

  /** Newest-first list read backwards, except that each run of one moment stays forwards: ids ascend in both. */
  #oldestFirst(): Int32Array {
    const newest = this.#newestFirst().rows();
    const oldest = new Int32Array(newest.length);
    let index = 0;
    let end = newest.length;
    while (end > 0) {
      const moment = this.#created[newest[end - 1] as number];
      let start = end - 1;
      while (start > 0 && this.#created[newest[start - 1] as number] === moment) start -= 1;
      oldest.set(newest.subarray(start, end), index);
      index += end - start;
      end = start;
    }
    return oldest;
  }

  #comparator(order: KeptOrder): (left: number, right: number) => number {
    const byId = (left: number, right: number) => compareText(this.#idOf(left), this.#idOf(right));
    if (order === 'id:asc') return byId;
    const sign = order === 'created_at:desc,id:asc' ? -1 : 1;
    return (left, right) => {
      const difference = (this.#created[left] as number) - (this.#created[right] as number);
      return difference === 0 ? byId(left, right) : sign * difference;
    };
  }

  #idOf(seq: number): string {
    const row = this.#idOfSeq.get(seq);
    return row === undefined ? '' : String(row['id']);
  }

  #remember(seq: number, createdAt: string): void {
    if (seq >= this.#created.length) {
      const grown = new Float64Array(Math.max(seq + 1, this.#created.length * 2));
      grown.set(this.#created);
      this.#created = grown;
    }
    this.#created[seq] = Date.parse(createdAt);
    if (seq > this.#last) this.#last = seq;
  }
}

/** Iterates, because a million objects at once would take more memory than the whole index. */
function arrays<R extends unknown[]>(statement: StatementSync): Iterable<R> {
  statement.setReturnArrays(true);
  return statement.iterate() as unknown as Iterable<R>;
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const facetValue = (row: object, column: string): string | null => textOrNull((row as Record<string, unknown>)[column]);

type Selection = NonNullable<ReturnType<RowIndex['select']>>;

type Defer = (change: () => void) => void;

export type Values<Row> = Partial<Record<keyof Row & string, SQLInputValue>>;

export class Collection<Row extends BaseRow> {
  readonly #spec: TableSpec;
  readonly #database: DatabaseSync;
  readonly #defer: Defer;
  readonly #index: RowIndex;
  readonly #statements = new Map<string, StatementSync>();
  readonly #unused = new Map<string, StatementSync[]>();
  readonly #columns: readonly string[];
  readonly #insertion: StatementSync;
  #last: number;
  /** Called with the row number after an insert or update; without one after many changes. */
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

  /** Rows with these values, in order of creation. Fast only for indexed columns. */
  where(values: Values<Row>): Row[] {
    // `= ?` can use a partial index, `IS ?` cannot.
    const conditions = Object.entries(values).map(([name, value]) => `${name} ${value === null ? 'IS' : '='} ?`);
    const sql = `SELECT * FROM ${this.#spec.table} WHERE ${conditions.join(' AND ')} ORDER BY seq`;
    return this.#prepare(sql).all(...(Object.values(values) as SQLInputValue[])) as unknown as Row[];
  }

  /** Rows for which this SQL holds, newest first. `condition` never contains text from a client. */
  *newest(condition: string, values: readonly SQLInputValue[]): Generator<Row, undefined> {
    // Takes a statement of its own, because several readers may be active or left unfinished.
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

  /** Frees the numbers of rows that a rollback removed. */
  forgetUncommitted(): void {
    this.#last = this.#index.last;
  }

  /** Matching items in that order. `terms` are total (they end with `id`). */
  query(filters: Filters, terms: readonly OrderTerm[]): Matching {
    const { selective } = this.#spec;
    const selection = this.#index.select(filters);
    if (selection === undefined) return NOTHING;
    const few = Object.keys(filters).filter((column) => column === 'id' || selective.includes(column));
    if (few.length > 0) return this.#few(filters, few, selection, terms);
    return selection.inOrder(terms) ?? this.#sorted(filters, selection, terms);
  }

  #few(filters: Filters, columns: string[], { passes }: Selection, terms: readonly OrderTerm[]): Matching {
    const sql = `SELECT seq FROM ${this.#spec.table} ${whereIn(columns)} ORDER BY ${orderBy(terms)}`;
    const seqs = this.#seqs(sql, valuesIn(filters, columns)).filter(passes);
    return { count: () => seqs.length, slice: (start, size) => seqs.slice(start, start + size) };
  }

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
