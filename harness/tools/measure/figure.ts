export const KIB = 1024;
export const MIB = 2 ** 20;

export interface Figure {
  name: string;
  value: number;
  /** Value of bare sockets or files, in the same unit; absent for an absolute goal. */
  floor?: number;
  /** Default: `value / floor`. */
  ratio?: number;
  goal: string;
  unit: string;
  met: boolean;
  why?: string;
}

export const figureAgainstFloor = (
  name: string,
  value: number,
  floor: number,
  share: number,
  unit: string,
): Figure => ({
  name,
  value,
  floor,
  goal: `≥ ${share} × floor`,
  unit,
  met: value >= share * floor,
});

export const timesFloor = (name: string, value: number, floor: number, times: number, unit: string): Figure => ({
  name,
  value,
  floor,
  goal: `≤ ${times} × floor`,
  unit,
  met: value <= times * floor,
});

export const atMost = (
  name: string,
  value: number,
  limit: number,
  unit: string,
  beside: Pick<Figure, 'floor' | 'why'> = {},
): Figure => ({ name, value, ...beside, goal: `≤ ${limit} ${unit}`, unit, met: value <= limit });

/** Runs the measures in alternating order, so that other work slows all of them alike. */
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

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
