import process from 'node:process';
import { ConflictError, combined, type Variant } from '../../simulators/defects/define.ts';
import { nearest, UsageError } from '../common/usage.ts';

type Named = { name: string; summary: string; file: string };

const LIST = 'list';

export function findByName<T extends Pick<Named, 'name'>>(
  option: string,
  name: string,
  all: readonly T[],
  simulator: 'device' | 'platform',
): T {
  const found = all.find((one) => one.name === name);
  if (found !== undefined) return found;
  const names = all.map((one) => one.name);
  // Compares sorted words, to find a name in another word order.
  const sorted = (text: string): string => text.split('-').sort().join('-');
  const meant = nearest(name, names) ?? names.find((each) => sorted(each) === nearest(sorted(name), names.map(sorted)));
  const words = name.split('-').filter((word) => word.length > 3);
  const alike = names.filter((each) => words.some((word) => each.includes(word))).slice(0, 5);
  const suggested = meant === undefined ? alike : [meant];
  const question = suggested.length === 0 ? '' : `; did you mean ${suggested.join(', ')}?`;
  throw new UsageError(
    `${option} ${name}: unknown name${question}\nmuster simulate ${simulator} ${option} ${LIST} prints all of them`,
  );
}

type Asked = { defect?: readonly string[]; variant?: readonly string[] };

interface Known<B> {
  simulator: 'device' | 'platform';
  defects: readonly (Variant<B> & Named)[];
  variants: readonly (Variant<B> & Named)[];
}

/** True if the command line asks for lists, which are then printed. */
export function printsLists<B>({ defect = [], variant = [] }: Asked, known: Known<B>): boolean {
  const sets = [...(defect.includes(LIST) ? [known.defects] : []), ...(variant.includes(LIST) ? [known.variants] : [])];
  const lists = sets.map((all: readonly Named[]) => {
    const sections = Map.groupBy(all, ({ file }) => file.replace(/^.*\/|\.[jt]s$/g, '').replaceAll('-', ' '));
    return [...sections].map(([section, some]) => `${section}\n${listOf(some, all)}`).join('\n');
  });
  if (lists.length > 0) process.stdout.write(lists.join('\n'));
  return lists.length > 0;
}

export function behaviourAsked<B>({ defect = [], variant = [] }: Asked, known: Known<B>, reference: B): B {
  const { simulator, defects, variants } = known;
  const chosen = [
    ...[...new Set(defect)].map((name) => findByName('--defect', name, defects, simulator)),
    ...[...new Set(variant)].map((name) => findByName('--variant', name, variants, simulator)),
  ];
  try {
    return combined(chosen, reference);
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    throw new UsageError(`--defect, --variant: ${error.message}, so they cannot be combined`);
  }
}

export function listOf(some: readonly Omit<Named, 'file'>[], all = some): string {
  const width = Math.max(...all.map(({ name }) => name.length));
  return some.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}\n`).join('');
}
