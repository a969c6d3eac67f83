/** Which defects and variants meet the tests, and in which order. */
import { nearest, UsageError } from '../common/usage.ts';
import type { Subject } from './subject.ts';

export interface Wanted {
  /** Names; `*` stands for anything. */
  readonly only?: readonly string[];
  readonly sections?: readonly string[];
}

/** Those that are asked for. Throws UsageError for a name or a section that none has. */
export function wantedOf(subjects: readonly Subject[], { only = [], sections = [] }: Wanted): Subject[] {
  const patterns = only.flatMap((list) => list.split(',')).map((name) => name.trim());
  for (const pattern of patterns) {
    if (subjects.some(({ name }) => fits(pattern, name))) continue;
    const near = nearest(
      pattern,
      subjects.map(({ name }) => name),
    );
    throw new UsageError(
      `--only ${pattern}: no defect and no variant is called so${near === undefined ? '' : `; did you mean ${near}?`}`,
    );
  }
  const known = [...new Set(subjects.map(({ section }) => section))].filter(Boolean).sort();
  for (const section of sections)
    if (!known.some((each) => isIn(section, each)))
      throw new UsageError(`--section ${section}: accepted are ${known.join(', ')}`);
  const wanted = subjects.filter(
    ({ name, section }) =>
      (patterns.length === 0 || patterns.some((pattern) => fits(pattern, name))) &&
      (sections.length === 0 || sections.some((each) => isIn(each, section))),
  );
  if (wanted.length === 0) throw new UsageError('--only and --section: nothing fits both');
  return wanted;
}

const fits = (pattern: string, name: string): boolean =>
  new RegExp(`^${pattern.split('*').map(escaped).join('.*')}$`).test(name);
const escaped = (text: string): string => text.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
const isIn = (section: string, of: string): boolean => of === section || of.startsWith(`${section}.`);

/**
 * Those that an earlier run found first; then one of each section in turn, so that a run that is ended early has looked
 * everywhere. Within a section defects come before variants, and the most telling first, as they are declared.
 */
export function ordered(subjects: readonly Subject[], first: ReadonlySet<string>): Subject[] {
  const again = subjects.filter(({ name }) => first.has(name));
  const others = subjects.filter(({ name }) => !first.has(name));
  const [defects, variants] = [others.filter(isDefect), others.filter((subject) => !isDefect(subject))];
  return [...again, ...inTurn(defects), ...inTurn(variants)];
}

const isDefect = ({ kind }: Subject): boolean => kind === 'defect';

function inTurn(subjects: readonly Subject[]): Subject[] {
  const queues = [...Map.groupBy(subjects, ({ section }) => section).values()];
  const longest = Math.max(0, ...queues.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) => queues.flatMap((queue) => queue.slice(at, at + 1))).flat();
}

/** So many of each kind at most: what an earlier run found, and a sample of the rest. `next`: as below. */
export function drawn(
  subjects: readonly Subject[],
  count: number,
  next: () => number,
  first: ReadonlySet<string>,
): Subject[] {
  const kinds = [subjects.filter(isDefect), subjects.filter((subject) => !isDefect(subject))];
  return kinds.flatMap((kind) => {
    const again = kind.filter(({ name }) => first.has(name)).slice(0, count);
    const others = kind.filter(({ name }) => !first.has(name));
    return [...again, ...sampled(others, count - again.length, next)];
  });
}

/** So many of each kind at most, drawn from every section alike. `next`: random numbers from 0 to 1. */
export function sampled(subjects: readonly Subject[], count: number, next: () => number): Subject[] {
  const drawn = subjects
    .map((subject) => ({ subject, place: next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ subject }) => subject);
  const chosen = new Set(
    [drawn.filter(isDefect), drawn.filter((subject) => !isDefect(subject))].flatMap((kind) =>
      inTurn(kind).slice(0, count),
    ),
  );
  return subjects.filter((subject) => chosen.has(subject));
}
