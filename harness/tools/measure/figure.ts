/** What all benches share: the line that they print, and how measurements take turns. */
export const KIB = 1024;
export const MIB = 2 ** 20;

/** One line of `npm run bench`: a measurement against the floor measured in the same run. */
export interface Figure {
  name: string;
  value: number;
  /** What the machine does at best, in the same unit; absent where a goal is absolute. */
  floor?: number;
  /** Default: `value / floor`. */
  ratio?: number;
  /** The goal in words, e.g. `≥ 0.9 × floor`. */
  goal: string;
  unit: string;
  met: boolean;
  /** Said when the goal is not met: where it went, or what stands beside it. */
  why?: string;
}

/** The goal is a share of the floor at least. */
export const ofFloor = (name: string, value: number, floor: number, share: number, unit: string): Figure => ({
  name,
  value,
  floor,
  goal: `≥ ${share} × floor`,
  unit,
  met: value >= share * floor,
});

/** The goal is so many times the floor at most. */
export const timesFloor = (name: string, value: number, floor: number, times: number, unit: string): Figure => ({
  name,
  value,
  floor,
  goal: `≤ ${times} × floor`,
  unit,
  met: value <= times * floor,
});

/** The goal is an upper limit, whatever the floor. */
export const atMost = (
  name: string,
  value: number,
  limit: number,
  unit: string,
  beside: Pick<Figure, 'floor' | 'why'> = {},
): Figure => ({ name, value, ...beside, goal: `≤ ${limit} ${unit}`, unit, met: value <= limit });

/**
 * What each measurement gave, once a round, one after the other and in the other order each second round: so whatever
 * else the machine does falls on all alike.
 */
export async function inTurns<K extends string, T = number>(
  rounds: number,
  measures: Record<K, (round: number) => Promise<T> | T>,
): Promise<Record<K, T[]>> {
  const names = Object.keys(measures) as K[];
  const taken = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<K, T[]>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) taken[name].push(await measures[name](round));
  }
  return taken;
}

/** The middle value; 0 of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
