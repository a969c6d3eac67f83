/** End of the seeded history. It is fixed, so that a seed always yields the same timestamps. */
export const SEED_END = Date.parse('2026-01-31T18:00:00.000Z');
export const DAY = 24 * 3_600_000;

/** The timestamp of a moment in milliseconds. */
export const at = (time: number): string => new Date(time).toISOString();
