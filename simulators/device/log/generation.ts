/** One file of the log as it is known in memory: its bounds, the ids it lacks, and a sparse index. */

/**
 * One file of the log, from the compaction that made it to the one that replaces it. A reader keeps the generation it
 * began with, and so reads the same file to its end, even when the name leads to another file.
 */
export interface Generation {
  /** Bytes that are durable; readers stop there. */
  bytes: number;
  /** Id of the first event, undefined while there is none. */
  earliest: number | undefined;
  /** Highest id ever assigned, even when its event is gone. 0 before the first. */
  latest: number;
  /** Among the ids from `earliest` to `latest`, oldest first. */
  gaps: readonly Gap[];
  readonly index: SparseIndex;
}

/** Bytes between two entries of the index. */
export const INDEX_SPACING = 65_536;

/** Offsets of some events, one for about 64 KiB, so that a long log needs little memory. */
export class SparseIndex {
  readonly #ids: number[] = [];
  readonly #offsets: number[] = [];

  /** Entries. */
  get size(): number {
    return this.#ids.length;
  }

  /** Adds event `id` at `offset`, unless an entry is near. Ids and offsets must ascend. */
  note(id: number, offset: number): void {
    const last = this.#offsets.at(-1);
    if (last !== undefined && offset - last < INDEX_SPACING) return;
    this.#ids.push(id);
    this.#offsets.push(offset);
  }

  /** An offset at or before the first event above `id`. */
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

  /** Adds the entries of `older` from offset `cut` on, where the new file begins. */
  takeOver(older: SparseIndex, cut: number): void {
    older.#offsets.forEach((offset, at) => {
      if (offset > cut) this.note(older.#ids[at] ?? 0, offset - cut);
    });
  }
}

/**
 * Ids that were given up after damage. They belong to no event, so they must not count as retained: otherwise the log
 * would drop real events to stay within its limit.
 */
export interface Gap {
  /** Last id before it. */
  after: number;
  /** Last id in it. */
  through: number;
}

export const NO_GAPS: readonly Gap[] = [];

/** How many ids from `earliest` on were given up. */
export function givenUp(gaps: readonly Gap[], earliest: number): number {
  let ids = 0;
  for (const { after, through } of gaps) if (after >= earliest) ids += through - after;
  return ids;
}

/** The lowest of the newest `ids` ids up to `latest`, not counting those that were given up. */
export function lowestOf(ids: number, latest: number, gaps: readonly Gap[]): number {
  let from = latest - ids + 1;
  for (const { after, through } of gaps.toReversed()) if (through >= from) from -= through - after;
  return from;
}

/** The gaps from `earliest` on. One that ends beyond `latest` is left out: where it began is no longer known. */
export function gapsWithin(gaps: readonly Gap[], earliest: number, latest = Number.POSITIVE_INFINITY): readonly Gap[] {
  const within = gaps.filter(({ after, through }) => after >= earliest && through < latest);
  return within.length > 0 ? within : NO_GAPS;
}
