/** State of one log file in memory: its bounds, missing ids, and a sparse index. */

/**
 * One file of the log, from one compaction to the next. A reader keeps its generation, and so reads the same file to
 * the end even after the name has moved to another.
 */
export interface Generation {
  /** Durable bytes, at which readers stop. */
  bytes: number;
  /** Id of the first event; undefined in an empty file. */
  earliest: number | undefined;
  /** Highest assigned id, even of a lost event; 0 before the first. */
  latest: number;
  /** Gaps from `earliest` to `latest`, oldest first. */
  gaps: readonly Gap[];
  readonly index: SparseIndex;
}

export const INDEX_SPACING = 65_536;

/** Offset of an event in about every 64 KiB, so that a long log needs little memory. */
export class SparseIndex {
  readonly #ids: number[] = [];
  readonly #offsets: number[] = [];

  get size(): number {
    return this.#ids.length;
  }

  /** Adds an event unless the last entry is near. Ids and offsets must ascend. */
  note(id: number, offset: number): void {
    const last = this.#offsets.at(-1);
    if (last !== undefined && offset - last < INDEX_SPACING) return;
    this.#ids.push(id);
    this.#offsets.push(offset);
  }

  /** Offset at or before the first event above `id`. */
  offsetBefore(id: number): number {
    let low = 0;
    let high = this.#ids.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ids[middle] ?? 0) <= id) low = middle + 1;
      else high = middle;
    }
    return this.#offsets[low - 1] ?? 0;
  }

  /** Adds the entries of `older` after offset `cut`, where the new file begins. */
  takeOver(older: SparseIndex, cut: number): void {
    older.#offsets.forEach((offset, at) => {
      if (offset > cut) this.note(older.#ids[at] ?? 0, offset - cut);
    });
  }
}

/**
 * Ids given up after damage. They must not count as retained events, because the log would drop real events to stay
 * within its limit.
 */
export interface Gap {
  after: number;
  through: number;
}

export const NO_GAPS: readonly Gap[] = [];

export function givenUp(gaps: readonly Gap[], earliest: number): number {
  let ids = 0;
  for (const { after, through } of gaps) if (after >= earliest) ids += through - after;
  return ids;
}

/** Lowest of the newest `ids` ids up to `latest`, without those given up. */
export function lowestOf(ids: number, latest: number, gaps: readonly Gap[]): number {
  let from = latest - ids + 1;
  for (const { after, through } of gaps.toReversed()) if (through >= from) from -= through - after;
  return from;
}

/** Gaps from `earliest` on, without one that ends beyond `latest`, whose beginning is unknown. */
export function gapsWithin(gaps: readonly Gap[], earliest: number, latest = Number.POSITIVE_INFINITY): readonly Gap[] {
  const within = gaps.filter(({ after, through }) => after >= earliest && through < latest);
  return within.length > 0 ? within : NO_GAPS;
}
