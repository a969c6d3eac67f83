/**
 * Row numbers in a fixed order, with access by position, for pages at any offset: a plain SQL OFFSET reads everything
 * before it. The rows lie in sorted chunks. For each filter in use a tally counts the passing rows of each chunk, so
 * that a far page skips whole chunks under a filter too. `npm run bench -- --only platform` measures the effect.
 */

/** Code of a row without a value; no filter selects it. */
const NONE = 0;

/** One column in memory, as small integers by row number. */
export class Facet {
  readonly column: string;
  #codes = new Int32Array(1024);
  readonly #codeByValue = new Map<string, number>();

  constructor(column: string) {
    this.column = column;
  }

  codeOf(row: number): number {
    return this.#codes[row] ?? NONE;
  }

  find(value: string): number | undefined {
    return this.#codeByValue.get(value);
  }

  set(row: number, value: unknown): void {
    if (row >= this.#codes.length) {
      const grown = new Int32Array(Math.max(row + 1, this.#codes.length * 2));
      grown.set(this.#codes);
      this.#codes = grown;
    }
    let code = typeof value === 'string' ? this.#codeByValue.get(value) : NONE;
    if (code === undefined) {
      code = this.#codeByValue.size + 1;
      this.#codeByValue.set(value as string, code);
    }
    this.#codes[row] = code;
  }
}

const CHUNK = 512;
/** Filters with tallies; each costs two bytes a chunk and a check of every changed row. */
const TALLIES = 128;

interface Chunk {
  rows: Int32Array;
  length: number;
}

/** Rows whose code in each facet is among `codes`. Empty: all rows. */
export type FacetFilter = readonly { facet: number; codes: readonly number[] }[];

interface Tally {
  filter: FacetFilter;
  counts: number[];
  total: number;
}

/** Rows in one order; insertion and access by position both cost about √n. */
export class RankedList {
  readonly #compare: (left: number, right: number) => number;
  readonly #facets: readonly Facet[];
  #chunks: Chunk[] = [];
  readonly #all: Tally = { filter: [], counts: [], total: 0 };
  readonly #tallies = new Map<string, Tally>();

  /** `compare`: a total order that never changes; facet codes of a row may change (`recode`). */
  constructor(compare: (left: number, right: number) => number, facets: readonly Facet[]) {
    this.#compare = compare;
    this.#facets = facets;
  }

  get size(): number {
    return this.#all.total;
  }

  load(sorted: Int32Array): void {
    this.#chunks = [];
    this.#tallies.clear();
    const fill = (CHUNK * 3) / 4;
    for (let start = 0; start < sorted.length; start += fill) {
      this.#chunks.push(chunkOf(sorted.subarray(start, start + fill)));
    }
    this.#all.counts = this.#chunks.map(({ length }) => length);
    this.#all.total = sorted.length;
  }

  insert(row: number): void {
    if (this.#chunks.length === 0) {
      this.#chunks.push(chunkOf(new Int32Array(0)));
      this.#everyTally((tally) => tally.counts.push(0));
    }
    const at = this.#locate(row);
    const chunk = this.#chunks[at] as Chunk;
    const position = this.#lowerBound(chunk, row);
    chunk.rows.copyWithin(position + 1, position, chunk.length);
    chunk.rows[position] = row;
    chunk.length += 1;
    this.#everyTally((tally) => {
      if (this.passes(row, tally.filter)) add(tally, at, 1);
    });
    if (chunk.length === CHUNK) this.#split(at);
  }

  /** Updates the tallies after the code of `row` in a facet has changed from `from`. */
  recode(row: number, facet: number, from: number): void {
    const at = this.#locate(row);
    for (const tally of this.#tallies.values()) {
      const changed = tally.filter.find((part) => part.facet === facet);
      if (changed === undefined) continue;
      const others = tally.filter.filter((part) => part !== changed);
      if (!this.passes(row, others)) continue;
      const was = changed.codes.includes(from);
      const is = this.passes(row, [changed]);
      if (was !== is) add(tally, at, is ? 1 : -1);
    }
  }

  count(filter: FacetFilter): number {
    return this.#tallyOf(filter).total;
  }

  /** Passing rows at positions `start` to `start + count - 1`. */
  slice(start: number, count: number, filter: FacetFilter): number[] {
    const found: number[] = [];
    const { counts, total } = this.#tallyOf(filter);
    if (count <= 0 || start >= total) return found;
    let skip = start;
    let at = 0;
    for (let here = counts[at] as number; skip >= here; here = counts[at] as number) {
      skip -= here;
      at += 1;
    }
    for (; at < counts.length && found.length < count; at++) {
      if (counts[at] === 0) continue;
      const chunk = this.#chunks[at] as Chunk;
      const every = counts[at] === chunk.length;
      for (let index = every ? skip : 0; index < chunk.length && found.length < count; index++) {
        const row = chunk.rows[index] as number;
        if (!every && !this.passes(row, filter)) continue;
        if (!every && skip > 0) skip -= 1;
        else found.push(row);
      }
      skip = 0;
    }
    return found;
  }

  passes(row: number, filter: FacetFilter): boolean {
    for (let part = 0; part < filter.length; part++) {
      const { facet, codes } = filter[part] as FacetFilter[number];
      if (!codes.includes((this.#facets[facet] as Facet).codeOf(row))) return false;
    }
    return true;
  }

  #tallyOf(filter: FacetFilter): Tally {
    if (filter.length === 0) return this.#all;
    const key = filter.map(({ facet, codes }) => `${facet}:${codes.join('|')}`).join(' ');
    const kept = this.#tallies.get(key);
    if (kept !== undefined) {
      this.#tallies.delete(key);
      this.#tallies.set(key, kept);
      return kept;
    }
    const counts = this.#chunks.map((chunk) => this.#countIn(chunk, filter));
    const tally = { filter, counts, total: counts.reduce((sum, count) => sum + count, 0) };
    this.#tallies.set(key, tally);
    for (const oldest of this.#tallies.keys()) {
      if (this.#tallies.size <= TALLIES) break;
      this.#tallies.delete(oldest);
    }
    return tally;
  }

  #everyTally(change: (tally: Tally) => void): void {
    change(this.#all);
    for (const tally of this.#tallies.values()) change(tally);
  }

  #countIn(chunk: Chunk, filter: FacetFilter): number {
    if (filter.length === 0) return chunk.length;
    let total = 0;
    for (let index = 0; index < chunk.length; index++) {
      if (this.passes(chunk.rows[index] as number, filter)) total += 1;
    }
    return total;
  }

  /** Index of the chunk for `row`: the last one whose first row is not after it. */
  #locate(row: number): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#compare((this.#chunks[middle] as Chunk).rows[0] as number, row) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #lowerBound(chunk: Chunk, row: number): number {
    let low = 0;
    let high = chunk.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(chunk.rows[middle] as number, row) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #split(at: number): void {
    const full = this.#chunks[at] as Chunk;
    const halves = [chunkOf(full.rows.subarray(0, CHUNK / 2)), chunkOf(full.rows.subarray(CHUNK / 2, full.length))];
    this.#chunks.splice(at, 1, ...halves);
    this.#everyTally((tally) => tally.counts.splice(at, 1, ...halves.map((half) => this.#countIn(half, tally.filter))));
  }
}

function chunkOf(rows: Int32Array): Chunk {
  const chunk = { rows: new Int32Array(CHUNK), length: rows.length };
  chunk.rows.set(rows);
  return chunk;
}

function add(tally: Tally, at: number, by: number): void {
  tally.counts[at] = (tally.counts[at] as number) + by;
  tally.total += by;
}
