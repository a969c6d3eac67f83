/**
 * Groups of subjects that take long, and find only what a change of certain folders can break: `.ci/selection.ts` has
 * the folders.
 */
import { FLOODS } from '../../../simulators/defects/null.ts';
import type { Subject } from './subjects.ts';

export const GROUPS: Readonly<Record<string, (subject: Subject) => boolean>> = {
  starved: ({ kind }) => kind === 'starved',
  unwilling: ({ kind }) => kind === 'unwilling',
  slow: ({ slow }) => slow === true,
  floods: ({ kind, name }) => kind === 'null' && FLOODS.some((flood) => flood === name),
};

/**
 * The subjects that are in none of the groups. `said`: one line for each group, so that nothing is silently skipped.
 */
export function without(
  groups: readonly string[],
  subjects: readonly Subject[],
): { chosen: readonly Subject[]; said: string[] } {
  const counted = groups.map((name) => ({ name, left: subjects.filter((subject) => GROUPS[name]?.(subject)) }));
  const left = new Set(counted.flatMap((group) => group.left));
  return {
    chosen: subjects.filter((subject) => !left.has(subject)),
    said: counted.flatMap(({ name, left: { length } }) => (length === 0 ? [] : [`left out: ${name} (${length})`])),
  };
}
