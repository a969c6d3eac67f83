/** One table: rows by id, and pages of it in any order, filtered, at any offset. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { compareText, Facet } from './facets.ts';
import { KEPT_ORDERS, type KeptOrder, type OrderPlan, type OrderTerm, planOrder } from './order.ts';
import { type FacetFilter, RankedList } from './ranks.ts';
import type { BaseRow } from './rows.ts';
import type { TableSpec } from './tables.ts';

/** Column to accepted values: AND across columns, OR within one. */
export type Filters = Readonly<Record<string, readonly string[]>>;

export interface Page {
  seqs: readonly number[];
  /** Whether an item lies beyond this page. */
  beyond: boolean;
  /** Counts all that match. */
  total(): number;
}

/** Matching items in an order, by position. */
export interface Matching {
  slice(start: number, count: number): number[];
  count(): number;
}

/** Changes to memory, made once the database has committed. */
export type Deferred = (change: () => void) => void;

export class Collection<Row extends BaseRow> {
  readonly spec: TableSpec;
  readonly #database: DatabaseSync;
  readonly #defer: Deferred;
  readonly #facets: Facet[];
  readonly #lists = new Map<KeptOrder, RankedList>();
  readonly #statements = new Map<string, StatementSync>();
  #insertion: StatementSync | undefined;
  #created = new Float64Array(1024);
  #last = 0;
  #committed = 0;
  /** Called with the row number after a change to a row; with none when many changed. */
  onChange: (seq?: number) => void = () => {};

  constructor(database: DatabaseSync, spec: TableSpec, defer: Deferred) {
    this.#database = database;
    this.spec = spec;
    this.#defer = defer;
    this.#facets = spec.facets.map((column) => new Facet(column));
    this.reload();
  }

  /** Number of rows. */
  get size(): number {
    return this.#list('created_at:desc,id:asc').size;
  }

  /** Number of the newest row; 0 when there is none. */
  get last(): number {
    return this.#last;
  }

  /** Reads everything that is held in memory from the table again (after a bulk load). */
  reload(): void {
    this.#lists.clear();
    const columns = ['seq', 'created_at', ...this.spec.facets].join(', ');
    const { count } = this.#database.prepare(`SELECT count(*) AS count FROM ${this.spec.table}`).get() as {
      count: number;
    };
    const sorted = new Int32Array(count);
    let index = 0;
    const rows = this.#database.prepare(`SELECT ${columns} FROM ${this.spec.table} ORDER BY created_at DESC, id ASC`);
    rows.setReturnArrays(true);
    for (const values of rows.iterate() as unknown as Iterable<[number, string, ...unknown[]]>) {
      const seq = values[0];
      sorted[index++] = seq;
      this.#remember(seq, values[1]);
      for (const [at, facet] of this.#facets.entries()) facet.set(seq, textOrNull(values[at + 2]));
      if (seq > this.#last) this.#last = seq;
    }
    const list = new RankedList(this.#comparator('created_at:desc,id:asc'), this.#facets);
    list.load(sorted);
    this.#lists.set('created_at:desc,id:asc', list);
    this.#committed = this.#last;
    this.onChange();
  }

  /** After a rollback: the numbers given to rows that are not there after all are free again. */
  forgetUncommitted(): void {
    this.#last = this.#committed;
  }

  byId(id: string): Row | undefined {
    return this.#row(this.#prepare(`SELECT * FROM ${this.spec.table} WHERE id = ?`).get(id));
  }

  bySeq(seq: number): Row | undefined {
    return this.#row(this.#prepare(`SELECT * FROM ${this.spec.table} WHERE seq = ?`).get(seq));
  }

  /** Rows whose columns have these values, in order of creation. Quick only where the columns are indexed. */
  where(values: Partial<Record<keyof Row & string, SQLInputValue>>): Row[] {
    // `= ?` can use a partial index, `IS ?` cannot.
    const condition = Object.entries(values)
      .map(([name, value]) => `${name} ${value === null ? 'IS' : '='} ?`)
      .join(' AND ');
    const statement = this.#prepare(`SELECT * FROM ${this.spec.table} WHERE ${condition} ORDER BY seq`);
    return statement.all(...(Object.values(values) as SQLInputValue[])) as unknown as Row[];
  }

  first(values: Partial<Record<keyof Row & string, SQLInputValue>>): Row | undefined {
    return this.where(values)[0];
  }

  /** Adds a row under the next number, which `build` is given. */
  insert(build: (seq: number) => Row): Row {
    const row = build(this.#last + 1);
    this.#add(row);
    this.#defer(() => {
      this.#committed = row.seq;
      this.#remember(row.seq, row.created_at);
      for (const facet of this.#facets) facet.set(row.seq, facetValue(row, facet.column));
      for (const list of this.#lists.values()) list.insert(row.seq);
    });
    return row;
  }

  /** Adds many rows at once, in a transaction of the caller; what is held in memory is read again at the end. */
  load(count: number, build: (seq: number) => Row): void {
    const first = this.#last + 1;
    for (let seq = first; seq < first + count; seq++) this.#add(build(seq));
    this.#defer(() => this.reload());
  }

  #add(row: Row): void {
    const columns = ['seq', ...Object.keys(this.spec.columns)];
    this.#insertion ??= this.#prepare(
      `INSERT INTO ${this.spec.table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    );
    const values = columns.map((column) => (row as unknown as Record<string, SQLInputValue>)[column] ?? null);
    this.#insertion.run(...values);
    this.#last = row.seq;
  }

  update(row: Row, changes: Partial<Omit<Row, keyof BaseRow>>): Row {
    const columns = Object.keys(changes);
    if (columns.length === 0) return row;
    const assignments = columns.map((column) => `${column} = ?`).join(', ');
    const statement = this.#prepare(`UPDATE ${this.spec.table} SET ${assignments} WHERE seq = ?`);
    statement.run(...(Object.values(changes) as SQLInputValue[]), row.seq);
    const updated = { ...row, ...changes };
    this.#defer(() => {
      for (const [index, facet] of this.#facets.entries()) {
        const from = facet.codeOf(row.seq);
        facet.set(row.seq, facetValue(updated, facet.column));
        const to = facet.codeOf(row.seq);
        if (from !== to) for (const list of this.#lists.values()) list.recode(row.seq, index, from);
      }
      this.onChange(row.seq);
    });
    return updated;
  }

  /** The matching items in that order. `terms` are total (they end with `id`). */
  query(filters: Filters, terms: readonly OrderTerm[]): Matching {
    const selective = Object.keys(filters).filter((column) => column === 'id' || this.spec.selective.includes(column));
    const filter = this.#facetFilter(filters);
    if (filter === undefined) return NOTHING;
    if (selective.length > 0) return this.#few(filters, selective, filter, terms);
    const plan = planOrder(terms, this.spec.facets);
    return plan === undefined ? this.#sorted(filters, terms) : this.#ranked(plan, filter);
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

  /** A filter on an indexed column yields few rows: sort those. */
  #few(filters: Filters, selective: string[], filter: FacetFilter, terms: readonly OrderTerm[]): Matching {
    const conditions = selective.map((column) => `${column} IN (SELECT value FROM json_each(?))`).join(' AND ');
    const order = terms.map(({ field, descending }) => `${field} ${descending ? 'DESC' : 'ASC'}`).join(', ');
    const sql = `SELECT seq FROM ${this.spec.table} WHERE ${conditions} ORDER BY ${order}`;
    const values = selective.map((column) => JSON.stringify(filters[column]));
    const list = this.#list('created_at:desc,id:asc');
    const seqs = this.#seqs(sql, values).filter((seq) => list.passes(seq, filter));
    return { count: () => seqs.length, slice: (start, size) => seqs.slice(start, start + size) };
  }

  /** Any other order: a sort by the database. */
  #sorted(filters: Filters, terms: readonly OrderTerm[]): Matching {
    const columns = Object.keys(filters);
    const conditions = columns.map((column) => `${column} IN (SELECT value FROM json_each(?))`);
    const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
    const values = columns.map((column) => JSON.stringify(filters[column]));
    const order = terms.map(({ field, descending }) => `${field} ${descending ? 'DESC' : 'ASC'}`).join(', ');
    const sql = `SELECT seq FROM ${this.spec.table} ${where} ORDER BY ${order} LIMIT ? OFFSET ?`;
    const filter = this.#facetFilter(filters) ?? [];
    return {
      count: () => this.#list('created_at:desc,id:asc').count(filter),
      slice: (start, size) => this.#seqs(sql, [...values, size, Math.min(start, this.#last)]),
    };
  }

  /** `undefined` when a value is asked for that no row ever had, so that nothing can match. */
  #facetFilter(filters: Filters): FacetFilter | undefined {
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

  #list(order: KeptOrder): RankedList {
    let list = this.#lists.get(order);
    if (list === undefined) {
      if (!KEPT_ORDERS.includes(order)) throw new RangeError(`no ranked list is kept for ${order}`);
      list = new RankedList(this.#comparator(order), this.#facets);
      list.load(order === 'id:asc' ? this.#allById() : this.#oldestFirst());
      this.#lists.set(order, list);
    }
    return list;
  }

  #allById(): Int32Array {
    const seqs = new Int32Array(this.size);
    const statement = this.#database.prepare(`SELECT seq FROM ${this.spec.table} ORDER BY id`);
    statement.setReturnArrays(true);
    let index = 0;
    // Row by row: an array of a million objects costs more memory than everything else that is held of them.
    for (const [seq] of statement.iterate() as unknown as Iterable<[number]>) seqs[index++] = seq;
    return seqs;
  }

  /** The newest-first list read backwards, but each run of one moment forwards: ids ascend in both. */
  #oldestFirst(): Int32Array {
    const newest = this.#list('created_at:desc,id:asc').rows();
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
    const row = this.#prepare(`SELECT id FROM ${this.spec.table} WHERE seq = ?`).get(seq);
    return row === undefined ? '' : String(row['id']);
  }

  #seqs(sql: string, values: SQLInputValue[]): number[] {
    return this.#prepare(sql)
      .all(...values)
      .map((row) => Number(row['seq']));
  }

  #remember(seq: number, createdAt: string): void {
    if (seq >= this.#created.length) {
      const grown = new Float64Array(Math.max(seq + 1, this.#created.length * 2));
      grown.set(this.#created);
      this.#created = grown;
    }
    this.#created[seq] = Date.parse(createdAt);
  }

  #row(row: unknown): Row | undefined {
    return row as Row | undefined;
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

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const facetValue = (row: object, column: string): string | null => textOrNull((row as Record<string, unknown>)[column]);
