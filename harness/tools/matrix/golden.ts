import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { defined } from '../../common/defined.ts';
import { inParallel } from '../../common/parallel.ts';
import { leadsFirst } from '../../runner/causes.ts';
import type { CheckResult } from '../../runner/types.ts';
import type { Subject, SubjectKind } from './subjects.ts';

const SEEDS = [11, 23];
const NONE = 'none';
const OR = ' / ';

type State = 'MUST' | 'SHOULD' | 'pass' | 'not applicable' | 'undecided' | 'blocked' | 'as due' | 'not asked';

type Kind = SubjectKind | 'narrowed';

/** Unusual outcomes by check id; `first`: id of the leading finding. */
type Row = Readonly<Record<string, string>>;

type Cost = readonly [requests: number, seconds: number];

/** Keys of `subjects` and `costs`: names of subjects, e.g. `device defect frame-without-event`. */
export interface Golden {
  checks: readonly string[];
  subjects: Record<string, Row>;
  costs: Record<string, Cost>;
}

/** States from best to worst: `FOUND` on a defect, `CORRECT` on a correct target. */
const FOUND: readonly State[] = ['MUST', 'SHOULD', 'pass', 'not applicable', 'undecided', 'blocked', 'not asked'];
const CORRECT: readonly State[] = ['pass', 'not applicable', 'undecided', 'blocked', 'SHOULD', 'MUST'];
/** Outcomes that vary with the speed of the machine, and so count as equal. */
const GREEN: readonly string[] = ['pass', 'not applicable', 'undecided'];
const RANKS: Record<Kind, readonly State[]> = {
  reference: CORRECT,
  variant: CORRECT,
  defect: FOUND,
  narrowed: FOUND,
  null: ['as due', 'pass'],
  unwilling: ['as due', 'SHOULD', 'MUST'],
  starved: ['as due', 'SHOULD', 'MUST'],
};
const USUAL: Readonly<Partial<Record<Kind, State>>> = {
  narrowed: 'not asked',
  null: 'as due',
  unwilling: 'as due',
  starved: 'as due',
};
const usualOf = (kind: Kind): State => USUAL[kind] ?? 'pass';

function stateOf(kind: Kind, { outcome, level, reason = '' }: CheckResult): State {
  const words = { fail: 'MUST', warn: 'SHOULD', not_applicable: 'not applicable' } as const;
  const state = outcome in words ? words[outcome as keyof typeof words] : (outcome as State);
  // An option (`not run:`) or a missing capability (`needs`) left the check out.
  const isLeftOut = state === 'not applicable' && /^(not run: |needs )/.test(reason);
  return RANKS[kind].includes(state) && !isLeftOut && level !== 'INFO' ? state : usualOf(kind);
}

const kindOf = ({ kind }: Subject, whole: boolean): Kind => (kind === 'defect' && !whole ? 'narrowed' : kind);

export const titleOf = (subject: Subject, whole: boolean): string =>
  `${subject.api} ${kindOf(subject, whole)} ${subject.name}`;

export function rowOf(kind: Kind, runs: readonly (readonly CheckResult[])[]): Row {
  const words = (states: readonly string[]): string =>
    [...new Set(states)].length > 1 ? states.join(OR) : `${states[0]}`;
  const usual = usualOf(kind);
  const states = runs.map((checks) => new Map(checks.map((check) => [check.id, stateOf(kind, check)])));
  const ids = [...new Set(states.flatMap((one) => [...one.keys()]))].toSorted();
  const rows = ids.map((id) => [id, words(states.map((one) => one.get(id) ?? usual))] as const);
  const first = RANKS[kind] !== FOUND ? NONE : words(runs.map((checks) => leadsFirst(checks)[0]?.id ?? NONE));
  return {
    ...defined({ first: first === NONE ? undefined : first }),
    ...Object.fromEntries(rows.filter(([, state]) => state !== usual)),
  };
}

const requestsOf = ({ saw, exchanges = [] }: CheckResult): number =>
  saw?.['requests'] ?? exchanges.reduce((sum, { times = 1 }) => sum + times, 0);

export async function recordGolden(
  subjects: readonly Subject[],
  { whole, concurrency }: { whole: boolean; concurrency: number },
  each: (name: string, came: { row: Row; cost: Cost } | Error) => void,
): Promise<void> {
  await inParallel(subjects, concurrency, async (subject) => {
    const started = performance.now();
    const runs: (readonly CheckResult[])[] = [];
    const title = titleOf(subject, whole);
    const kind = kindOf(subject, whole);
    const { breaks = [], beside = [] } = subject;
    const varied = kind === 'reference' || kind === 'variant';
    const choice = kind === 'narrowed' ? { only: [...breaks, ...beside] } : { fast: true };
    try {
      for (const seed of SEEDS) runs.push((await subject.run({ varied, seed, ...choice })).checks);
    } catch (error) {
      return each(title, error instanceof Error ? error : new Error(String(error)));
    }
    const rounded = (value: number): number => Number(value.toPrecision(2));
    const requests = runs.flat().reduce((sum, check) => sum + requestsOf(check), 0);
    const cost = [rounded(requests), rounded((performance.now() - started) / 1000)] as const;
    each(title, { row: rowOf(kind, runs), cost });
  });
}

/** Separate file for requests and seconds, which differ with every run. */
const costsOf = (file: string): string => file.replace(/(\.json)?$/, '.cost.json');

export function readGolden(file: string): Golden {
  const read = (from: string) => JSON.parse(readFileSync(from, 'utf8'));
  return { ...read(file), costs: existsSync(costsOf(file)) ? read(costsOf(file)) : {} };
}

export function writeGolden(file: string, { checks, subjects, costs }: Golden): void {
  const sorted = <T>(table: Record<string, T>) => Object.entries(table).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const golden = { seeds: SEEDS.join(OR), subjects: Object.fromEntries(sorted(subjects)), checks: checks.toSorted() };
  writeFileSync(file, `${JSON.stringify(golden, null, 2)}\n`);
  const costLines = sorted(costs).map(([name, [requests, seconds]]) => `  "${name}": [${requests}, ${seconds}]`);
  writeFileSync(costsOf(file), `{\n${costLines.join(',\n')}\n}\n`);
}

/**
 * `lost`: worse with both seeds. `gained`: better with both seeds. `unsteady`: any other change.
 * `moved`: blocked or not run, because a different finding leads.
 */
const CHANGES = ['lost', 'moved', 'unsteady', 'gained'] as const;
export interface Change {
  what: (typeof CHANGES)[number];
  subject: string;
  id: string;
  was: string;
  is: string;
}

export function compareGolden(before: Golden, after: Golden, known: ReadonlySet<string>): Change[] {
  const about = { id: 'subject', was: 'there', is: 'there' };
  const gone = Object.keys(before.subjects).filter((name) => !known.has(name));
  return [
    ...gone.map((subject): Change => ({ ...about, what: 'lost', subject, is: 'gone' })),
    ...Object.entries(after.subjects).flatMap(([subject, row]): Change[] => {
      const old = before.subjects[subject];
      if (old === undefined) return [{ ...about, what: 'gained', subject, was: 'not there' }];
      return changesOf(subject, old, row, new Set(after.checks));
    }),
  ];
}

function changesOf(subject: string, old: Row, row: Row, checks: ReadonlySet<string>): Change[] {
  const kind = subject.split(' ')[1] as Kind;
  const usual = usualOf(kind);
  const { first: led = NONE } = old;
  const { first: leads = NONE } = row;
  const isFound = ![led, leads].some((ids) => seedwise(ids).includes(NONE));
  const isMoved = isFound && seedwise(led).every((id) => !seedwise(leads).includes(id));
  const lead = { what: isMoved ? 'moved' : 'unsteady', subject, id: 'first', was: led, is: leads } as const;
  const changeOf = (id: string): Change | undefined => {
    const was = old[id] ?? usual;
    const is = row[id] ?? (checks.has(id) ? usual : 'not asked');
    // Ignores a check left out of one run, unless it finds the defect in the other.
    const isOpen = (state: string, other: string) =>
      state === 'not asked' && !(RANKS[kind] === FOUND && /MUST|SHOULD/.test(other));
    if (was === is || isOpen(was, is) || isOpen(is, was)) return undefined;
    const ranks = (states: string) =>
      seedwise(states).map((state) => RANKS[kind].indexOf(GREEN.includes(state) ? 'pass' : (state as State)));
    const isWorse = Math.min(...ranks(is)) > Math.max(...ranks(was));
    const isBetter = Math.max(...ranks(is)) < Math.min(...ranks(was));
    const isAway = isMoved && seedwise(is).every((one) => one === 'not asked' || one === 'blocked');
    const what = isWorse ? (isAway ? 'moved' : 'lost') : isBetter ? 'gained' : 'unsteady';
    return { what, subject, id, was, is };
  };
  const ids = [...new Set([...Object.keys(old), ...Object.keys(row)])].filter((id) => id !== 'first');
  return [...(isFound && led !== leads ? [lead] : []), ...ids.flatMap((id) => changeOf(id) ?? [])];
}

const seedwise = (states: string): string[] => states.split(OR);

export function changesInWords(changes: readonly Change[], before: Golden, after: Golden): string[] {
  const grouped = Object.groupBy(changes, ({ what, id, was, is }) => `${what.padEnd(8)}  ${id}: ${was} → ${is}`);
  const groups = Object.entries(grouped).map(([line, group = []]) => ({ line, group }));
  const lines = CHANGES.flatMap((what) =>
    groups
      .filter(({ group }) => group[0]?.what === what)
      .map(({ line, group }) => `${line}: ${group.map(({ subject }) => subject).join(', ')}`),
  );
  const names = Object.keys(after.costs).filter((name) => before.costs[name] !== undefined);
  const sum = ({ costs }: Golden, of: 0 | 1): number =>
    Math.round(names.reduce((total, name) => total + (costs[name]?.[of] ?? 0), 0));
  const counts = CHANGES.map((what) => `${changes.filter((change) => change.what === what).length} ${what}`);
  return [
    ...lines,
    `${names.length} subjects: ${counts.join(', ')}`,
    `requests: ${sum(before, 0)} → ${sum(after, 0)}; seconds: ${sum(before, 1)} → ${sum(after, 1)}`,
  ];
}
