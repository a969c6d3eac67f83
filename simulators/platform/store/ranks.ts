/**
 * Row numbers in a fixed order, with access by position: what a page at any offset needs (a plain SQL OFFSET walks over
 * everything before it). Sorted chunks, each with a count for every value of every facet, so that a filtered page skips
 * whole chunks as well.
 */
import type { Facet } from './facets.ts';

const CHUNK = 1024;

interface Chunk {
  rows: Int32Array;
  length: number;
  /** counts[facet][code]; a code beyond the array counts nothing. */
  counts: Uint16Array[];
}

/** Rows whose code in each facet is among those allowed. Empty: all rows. */
export type FacetFilter = readonly { facet: number; codes: readonly number[] }[];

export class RankedList {
  readonly #compare: (left: number, right: number) => number;
  readonly #facets: readonly Facet[];
  #chunks: Chunk[] = [];
  #size = 0;

  /** `compare` orders rows totally and never changes its mind; facet codes of a row may change, see `recode`. */
  constructor(compare: (left: number, right: number) => number, facets: readonly Facet[]) {
    this.#compare = compare;
    this.#facets = facets;
  }

  get size(): number {
    return this.#size;
  }

  /** Takes rows that are sorted already, in place of what the list holds. */
  load(sorted: ArrayLike<number>): void {
    this.#chunks = [];
    this.#size = sorted.length;
    const fill = (CHUNK * 3) / 4;
    for (let start = 0; start < sorted.length; start += fill) {
      const chunk = this.#newChunk();
      const end = Math.min(start + fill, sorted.length);
      for (let index = start; index < end; index++) chunk.rows[chunk.length++] = sorted[index] as number;
      for (let index = 0; index < chunk.length; index++) this.#count(chunk, chunk.rows[index] as number, 1);
      this.#chunks.push(chunk);
    }
  }

  insert(row: number): void {
    if (this.#chunks.length === 0) this.#chunks.push(this.#newChunk());
    const at = this.#chunkOf(row);
    const chunk = this.#chunks[at] as Chunk;
    const position = this.#lowerBound(chunk, row);
    chunk.rows.copyWithin(position + 1, position, chunk.length);
    chunk.rows[position] = row;
    chunk.length += 1;
    this.#count(chunk, row, 1);
    this.#size += 1;
    if (chunk.length === CHUNK) this.#split(at);
  }

  /** Tells the list that `row` changed from one code to another in a facet. */
  recode(row: number, facet: number, from: number, to: number): void {
    const chunk = this.#chunks[this.#chunkOf(row)];
    if (chunk === undefined) return;
    add(chunk.counts, facet, from, -1);
    add(chunk.counts, facet, to, 1);
  }

  /** Number of rows that pass. */
  count(filter: FacetFilter): number {
    if (filter.length === 0) return this.#size;
    let total = 0;
    for (const chunk of this.#chunks) total += this.#countIn(chunk, filter);
    return total;
  }

  /** The rows at positions `start` … `start + count - 1` of those that pass; from the end when `reversed`. */
  slice(start: number, count: number, filter: FacetFilter, reversed = false): number[] {
    const found: number[] = [];
    if (count <= 0) return found;
    let skip = start;
    const chunks = this.#chunks;
    for (let step = 0; step < chunks.length && found.length < count; step++) {
      const chunk = chunks[reversed ? chunks.length - 1 - step : step] as Chunk;
      // A page far out passes over thousands of chunks: without a filter a chunk costs one addition.
      if (filter.length === 0) {
        if (skip >= chunk.length) {
          skip -= chunk.length;
          continue;
        }
      } else if (skip > 0) {
        const passing = this.#countIn(chunk, filter);
        if (skip >= passing) {
          skip -= passing;
          continue;
        }
      } else if (!mayHold(chunk, filter)) continue;
      for (let index = filter.length === 0 ? skip : 0; index < chunk.length && found.length < count; index++) {
        const row = chunk.rows[reversed ? chunk.length - 1 - index : index] as number;
        if (!this.passes(row, filter)) continue;
        if (filter.length > 0 && skip > 0) skip -= 1;
        else found.push(row);
      }
      if (filter.length === 0) skip = 0;
    }
    return found;
  }

  passes(row: number, filter: FacetFilter): boolean {
    for (const { facet, codes } of filter) {
      if (!codes.includes((this.#facets[facet] as Facet).codeOf(row))) return false;
    }
    return true;
  }

  #newChunk(): Chunk {
    return { rows: new Int32Array(CHUNK), length: 0, counts: this.#facets.map(() => new Uint16Array(8)) };
  }

  #count(chunk: Chunk, row: number, by: number): void {
    for (let facet = 0; facet < this.#facets.length; facet++) {
      add(chunk.counts, facet, (this.#facets[facet] as Facet).codeOf(row), by);
    }
  }

  /** Exact without looking at a row whenever at most one facet divides the chunk. */
  #countIn(chunk: Chunk, filter: FacetFilter): number {
    let least = chunk.length;
    let dividing = 0;
    for (const { facet, codes } of filter) {
      const counts = chunk.counts[facet] as Uint16Array;
      let passing = 0;
      for (let index = 0; index < codes.length; index++) passing += counts[codes[index] as number] ?? 0;
      if (passing === 0) return 0;
      if (passing < chunk.length) dividing += 1;
      if (passing < least) least = passing;
    }
    if (dividing <= 1) return least;
    let total = 0;
    for (let index = 0; index < chunk.length; index++) {
      if (this.passes(chunk.rows[index] as number, filter)) total += 1;
    }
    return total;
  }

  /** The chunk in which `row` is, or belongs: the last one whose first row is not after it. */
  #chunkOf(row: number): number {
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
    const halves = [full.rows.subarray(0, CHUNK / 2), full.rows.subarray(CHUNK / 2, full.length)].map((rows) => {
      const half = this.#newChunk();
      half.rows.set(rows);
      half.length = rows.length;
      for (const row of rows) this.#count(half, row, 1);
      return half;
    });
    this.#chunks.splice(at, 1, ...halves);
  }
}

function mayHold(chunk: Chunk, filter: FacetFilter): boolean {
  return filter.every(({ facet, codes }) =>
    codes.some((code) => ((chunk.counts[facet] as Uint16Array)[code] ?? 0) > 0),
  );
}

function add(counts: Uint16Array[], facet: number, code: number, by: number): void {
  let array = counts[facet] as Uint16Array;
  if (code >= array.length) {
    const grown = new Uint16Array(Math.max(code + 1, array.length * 2));
    grown.set(array);
    counts[facet] = array = grown;
  }
  array[code] = (array[code] as number) + by;
}
