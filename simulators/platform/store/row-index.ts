/** The index of a table in memory: its facets, and its rows by rank in the orders that clients ask for. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  type Filters,
  type KeptOrder,
  type Matching,
  type OrderPlan,
  type PageIndex,
  planOrder,
  type Selection,
} from './order.ts';
import { compareText, Facet, type FacetFilter, RankedList } from './ranks.ts';
import type { BaseRow, TableSpec } from './rows.ts';

export class RowIndex implements PageIndex {
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

  change(row: BaseRow): void {
    for (const [index, facet] of this.#facets.entries()) {
      const from = facet.codeOf(row.seq);
      facet.set(row.seq, facetValue(row, facet.column));
      if (facet.codeOf(row.seq) === from) continue;
      for (const list of this.#lists.values()) list.recode(row.seq, index, from);
    }
  }

  select(filters: Filters): Selection | undefined {
    const filter = this.#filter(filters);
    if (filter === undefined) return undefined;
    const list = this.#newestFirst();
    return {
      passes: (seq) => list.passes(seq, filter),
      count: () => list.count(filter),
      inOrder: (terms) => {
        const plan = planOrder(terms, this.#spec.facets);
        return plan && this.#ranked(plan, filter);
      },
    };
  }

  /** The facets among the filters; `undefined` when a value is asked for that no row ever had. */
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

  /** Builds every order but the default one when it is first needed. */
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

  /** The newest-first list read backwards, but each run of one moment forwards: ids ascend in both. */
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

/** Row by row, because a million objects at once would take more memory than the whole index. */
function arrays<R extends unknown[]>(statement: StatementSync): Iterable<R> {
  statement.setReturnArrays(true);
  return statement.iterate() as unknown as Iterable<R>;
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const facetValue = (row: object, column: string): string | null => textOrNull((row as Record<string, unknown>)[column]);
