/** State of one log file; after a compaction, readers of the old file finish with the old generation. */
export interface Generation {
  /** Length of the stored events; readers ignore any bytes beyond. */
  bytes: number;
  earliest: number | undefined;
  /** Highest id ever assigned, even if the event is lost; 0 before the first event. */
  latest: number;
  gaps: readonly Gap[];
  readonly index: SparseIndex;
}

export const INDEX_SPACING = 65_536;

/** File offsets by event id, one for about 64 KiB, so that a long log needs little memory. */
export class SparseIndex {
  readonly #ids: number[] = [];
  readonly #offsets: number[] = [];

  get size(): number {
    return this.#ids.length;
  }

  /** Ids and offsets must ascend. */
  note(id: number, offset: number): void {
    const last = this.#offsets.at(-1);
    if (last !== undefined && offset - last < INDEX_SPACING) return;
    this.#ids.push(id);
    this.#offsets.push(offset);
  }

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

  takeOver(older: SparseIndex, cut: number): void {
    older.#offsets.forEach((offset, at) => {
      if (offset > cut) this.note(older.#ids[at] ?? 0, offset - cut);
    });
  }
}

/** Unused ids after damage, above `after` and up to `through`, which do not count as retained events. */
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

/** Lowest of the newest `ids` ids up to `latest`, not counting ids in gaps. */
export function lowestOf(ids: number, latest: number, gaps: readonly Gap[]): number {
  let from = latest - ids + 1;
  for (const { after, through } of gaps.toReversed()) if (through >= from) from -= through - after;
  return from;
}

export function gapsWithin(gaps: readonly Gap[], earliest: number, latest = Number.POSITIVE_INFINITY): readonly Gap[] {
  const within = gaps.filter(({ after, through }) => after >= earliest && through < latest);
  return within.length > 0 ? within : NO_GAPS;
}
