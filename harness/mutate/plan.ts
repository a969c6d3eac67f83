/** Selects and orders the defects and variants against which the tests run. */
import { nearest, UsageError } from '../common/usage.ts';
import { SUBJECT_KINDS } from '../reports/mutation/report.ts';
import type { Subject } from './subject.ts';

export interface Selection {
  readonly only?: readonly string[];
  readonly sections?: readonly string[];
  readonly kind?: Subject['kind'];
}

/** Selects subjects by name, section and kind; throws UsageError for an unknown name or section. */
export function selectedSubjects(
  subjects: readonly Subject[],
  { only = [], sections = [], kind: wantedKind }: Selection,
): Subject[] {
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
    ({ name, section, kind }) =>
      (wantedKind === undefined || kind === wantedKind) &&
      (patterns.length === 0 || patterns.some((pattern) => fits(pattern, name))) &&
      (sections.length === 0 || sections.some((each) => isIn(each, section))),
  );
  if (wanted.length === 0) throw new UsageError('--only, --section and --kind: nothing fits all that were given');
  return wanted;
}

const fits = (pattern: string, name: string): boolean =>
  new RegExp(`^${pattern.split('*').map(escaped).join('.*')}$`).test(name);
const escaped = (text: string): string => text.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
const isIn = (section: string, of: string): boolean => of === section || of.startsWith(`${section}.`);

/** Orders subjects so that a run that is cut short has tried every section. */
export const inSectionOrder = (subjects: readonly Subject[]): Subject[] => interleaved(byKind(subjects).map(inTurn));

const byKind = (subjects: readonly Subject[]): Subject[][] =>
  SUBJECT_KINDS.map((wanted) => subjects.filter(({ kind }) => kind === wanted));

function inTurn(subjects: readonly Subject[]): Subject[] {
  const queues = [...Map.groupBy(subjects, ({ section }) => section).values()];
  const longest = Math.max(0, ...queues.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) => queues.flatMap((queue) => queue.slice(at, at + 1))).flat();
}

const interleaved = (lists: readonly Subject[][]): Subject[] =>
  lists
    .flatMap((list) => list.map((subject, at) => ({ subject, place: (at + 0.5) / list.length })))
    .toSorted((a, b) => a.place - b.place)
    .map(({ subject }) => subject);

/** Draws at most `count` subjects of each kind from all sections; `next` returns random numbers from 0 to 1. */
export function sampleOf(subjects: readonly Subject[], count: number, next: () => number): Subject[] {
  const chosen = new Set(byKind(subjects).flatMap((kind) => inTurn(shuffled(kind, next)).slice(0, count)));
  return subjects.filter((subject) => chosen.has(subject));
}

const shuffled = (subjects: readonly Subject[], next: () => number): Subject[] =>
  subjects
    .map((subject) => ({ subject, place: next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ subject }) => subject);
