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
