/** One file of the log as it is known in memory: its bounds, the ids it lacks, and a sparse index. */

/**
 * One file of the log, from the compaction that made it to the one that supersedes it. A reader holds on to the generation
 * it began with and so reads the same file to its end, whatever happens to the name.
 */
export interface Generation {
  /** Bytes that are durable; nothing beyond is ever read. */
  bytes: number;
  /** Id of the first event, undefined while there is none. */
  earliest: number | undefined;
  /** Highest id ever given out, even when its event is gone. 0 before the first. */
  latest: number;
  /** Among the ids from `earliest` to `latest`, oldest first. */
  gaps: readonly Gap[];
  readonly index: SparseIndex;
}

/** Every how many bytes the index has an entry. */
export const INDEX_SPACING = 65_536;

/** Where some events start: one entry for about 64 KiB, so that an idle log of any length costs next to nothing. */
export class SparseIndex {
  readonly #ids: number[] = [];
  readonly #offsets: number[] = [];

  /** Entries. */
  get size(): number {
    return this.#ids.length;
  }

  /** Notes that event `id` starts at `offset`, unless an entry is near. Ids and offsets must ascend. */
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

  /** Takes over what `older` knows from `cut` on, where the file now begins. */
  takeOver(older: SparseIndex, cut: number): void {
    older.#offsets.forEach((offset, at) => {
      if (offset > cut) this.note(older.#ids[at] ?? 0, offset - cut);
    });
  }
}

/**
 * Ids that were given up after damage. They belong to no event, so they must not count as retained: a log that took them for
 * events would throw away real ones to stay within its bound.
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

/** The lowest of the newest `ids` ids up to `latest`, those that were given up left out. */
export function lowestOf(ids: number, latest: number, gaps: readonly Gap[]): number {
  let from = latest - ids + 1;
  for (const { after, through } of gaps.toReversed()) if (through >= from) from -= through - after;
  return from;
}

/** Those among the events from `earliest` on; of one beyond `latest` it is not known any more where it began. */
export function gapsWithin(gaps: readonly Gap[], earliest: number, latest = Number.POSITIVE_INFINITY): readonly Gap[] {
  const within = gaps.filter(({ after, through }) => after >= earliest && through < latest);
  return within.length > 0 ? within : NO_GAPS;
}
