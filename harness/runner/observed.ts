/** Choices of a target where the specification is silent, as they are reported. */
import type { Observed } from './types.ts';

/** Each choice once, in the order in which they were seen first. */
export function distinct(observed: readonly Observed[]): Observed[] {
  const seen = new Map(observed.map((choice) => [`${choice.name}\n${choice.value}`, choice]));
  return [...seen.values()];
}

/** The choices in words, those with the same value in one line: `limit=0, limit=-5 → limit 1`. */
export function inWords(observed: readonly Observed[]): string[] {
  const groups = Map.groupBy(distinct(observed), ({ value }) => value);
  return [...groups].map(([value, choices]) => `${choices.map(({ name }) => name).join(', ')} → ${value}`);
}
