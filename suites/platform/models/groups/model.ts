/** A tree of groups as the platform was told to build it. */
import type { Item } from '../../support/lists.ts';
import type { Platform } from '../../support/platform.ts';
import { read } from '../../support/read.ts';
import type { GroupForms } from './forms.ts';

export interface GroupModel {
  /** In the order of creation; the first is the root of this run. */
  groups: { id: string; name: string; parent: string | null }[];
}

export interface GroupReality {
  t: Platform;
  forms: GroupForms;
}

/** Beyond it a platform may say that a tree is too deep. */
const DEEPEST = 3;

export const nth = <T>(items: readonly T[], which: number): T | undefined => items[which % items.length];

/** The group itself and everything above it. */
export function line(model: GroupModel, id: string | null): string[] {
  const above: string[] = [];
  for (let at = id; at !== null && !above.includes(at); ) {
    above.push(at);
    at = model.groups.find((group) => group.id === at)?.parent ?? null;
  }
  return above;
}

/** How many levels there would be with `id` and what is below it under `parent`. */
export const tooDeep = (model: GroupModel, id: string | undefined, parent: string | null): boolean => {
  const above = line(model, parent).length;
  const below = model.groups
    .map((group) => line(model, group.id))
    .flatMap((path) => (id !== undefined && path.includes(id) ? [path.indexOf(id) + 1] : []));
  return above + Math.max(1, ...below) > DEEPEST;
};

/** Every group reads as the model says, and following parents comes to an end. */
export async function agree(model: GroupModel, real: GroupReality): Promise<void> {
  const t: Platform = real.t;
  const { parentField } = real.forms;
  const seen = new Map<string, Item>();
  for (const { id } of model.groups) seen.set(id, await read(t, 'groups', id));
  for (const { id } of model.groups) {
    const above = new Set<string>();
    for (let at: unknown = id; typeof at === 'string' && seen.has(at); at = seen.get(at)?.[parentField]) {
      t.must(!above.has(at), {
        expected: 'a tree: following parents from any group comes to an end',
        actual: `a circle: ${[...above, at].join(' → ')}`,
      });
      above.add(at);
    }
  }
  for (const { id, name, parent } of model.groups) {
    const group = seen.get(id);
    t.must(group?.['name'] === name && (group[parentField] ?? null) === parent, {
      expected: `group ${id} named ${name} below ${parent ?? 'nothing'}`,
      actual: `named ${group?.['name']} below ${group?.[parentField] ?? 'nothing'}`,
    });
  }
}
