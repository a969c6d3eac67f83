/**
 * Golden outcomes: the outcome of every check on every subject with two fixed seeds, in a file, and the gains and
 * losses of a change against it.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { defined } from '../../common/defined.ts';
import { inParallel } from '../../common/parallel.ts';
import { leadsFirst } from '../../runner/causes.ts';
import type { CheckResult } from '../../runner/types.ts';
import type { Subject, SubjectKind } from './subjects.ts';

/** The first is that of every run of the matrix. */
const SEEDS = [11, 23];
/** Placeholder for the leading finding. */
const NONE = 'none';
/** Separator of the two seeds' outcomes, where they differ. */
const OR = ' / ';

/** Outcome of a check; a red one is named by its level. */
type State = 'MUST' | 'SHOULD' | 'pass' | 'not applicable' | 'undecided' | 'blocked' | 'as due' | 'not asked';

/** Whole suite on a defect; `narrowed` runs only the checks of the requirements that it breaks. */
type Kind = SubjectKind | 'narrowed';

/**
 * Row of one subject: `first`, the leading finding, and unusual outcomes by check id. One state where both seeds agree,
 * else both.
 */
type Row = Readonly<Record<string, string>>;

/** Sum over both seeds; shown, never compared. */
type Cost = readonly [requests: number, seconds: number];

/** Rows by subject, e.g. `device defect frame-without-event`. */
export interface Golden {
  /** Ids of all checks: a row lists only the unusual outcomes. */
  checks: readonly string[];
  subjects: Record<string, Row>;
  costs: Record<string, Cost>;
}

/** Outcomes of a check from best to worst: on a defect, red is best, and on a correct target worst. */
const FOUND: readonly State[] = ['MUST', 'SHOULD', 'pass', 'not applicable', 'undecided', 'blocked', 'not asked'];
const CORRECT: readonly State[] = ['pass', 'not applicable', 'undecided', 'blocked', 'SHOULD', 'MUST'];
/** Outcomes that may depend on the machine and on overlapping checks, so that none is a loss of another. */
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
/** Outcome that a row leaves out, by kind of subject. */
const USUAL: Readonly<Partial<Record<Kind, State>>> = {
  narrowed: 'not asked',
  null: 'as due',
  unwilling: 'as due',
  starved: 'as due',
};
const usualOf = (kind: Kind): State => USUAL[kind] ?? 'pass';

/** State of a check's result on such a subject. */
function stateOf(kind: Kind, { outcome, level, reason = '' }: CheckResult): State {
  const words = { fail: 'MUST', warn: 'SHOULD', not_applicable: 'not applicable' } as const;
  const state = outcome in words ? words[outcome as keyof typeof words] : (outcome as State);
  // Checks outside of the plan, and those that record a choice, have no outcome.
  const isLeftOut = state === 'not applicable' && /^(not run: |needs )/.test(reason);
  return RANKS[kind].includes(state) && !isLeftOut && level !== 'INFO' ? state : usualOf(kind);
}

const kindOf = ({ kind }: Subject, whole: boolean): Kind => (kind === 'defect' && !whole ? 'narrowed' : kind);

/** Title of a row, e.g. `device defect ids-go-back`, `device narrowed ids-go-back`. */
export const titleOf = (subject: Subject, whole: boolean): string =>
  `${subject.api} ${kindOf(subject, whole)} ${subject.name}`;

/** A whole suite runs without the checks that have to wait. */
async function resultsOf(subject: Subject, whole: boolean, seed: number): Promise<readonly CheckResult[]> {
  const { kind, breaks = [], beside = [] } = subject;
  const varied = kind === 'reference' || kind === 'variant';
  const choice = kindOf(subject, whole) === 'narrowed' ? { only: [...breaks, ...beside] } : { fast: true };
  return (await subject.run({ varied, seed, ...choice })).checks;
}

/** Row of the results with each seed. */
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

/** Number of requests as far as results show it: of a red check, the exchanges of its finding. */
const requestsOf = ({ saw, exchanges = [] }: CheckResult): number =>
  saw?.['requests'] ?? exchanges.reduce((sum, { times = 1 }) => sum + times, 0);

/** Runs the subjects with each seed. `each` receives the row of one, or the error of one that could not run. */
export async function recordGolden(
  subjects: readonly Subject[],
  { whole, concurrency }: { whole: boolean; concurrency: number },
  each: (name: string, came: { row: Row; cost: Cost } | Error) => void,
): Promise<void> {
  await inParallel(subjects, concurrency, async (subject) => {
    const started = performance.now();
    const runs: (readonly CheckResult[])[] = [];
    const title = titleOf(subject, whole);
    try {
      for (const seed of SEEDS) runs.push(await resultsOf(subject, whole, seed));
    } catch (error) {
      return each(title, error instanceof Error ? error : new Error(String(error)));
    }
    const rounded = (value: number): number => Number(value.toPrecision(2));
    const requests = runs.flat().reduce((sum, check) => sum + requestsOf(check), 0);
    const cost = [rounded(requests), rounded((performance.now() - started) / 1000)] as const;
    each(title, { row: rowOf(kindOf(subject, whole), runs), cost });
  });
}

/** Path of the file with requests and seconds, which differ with every run. */
const costsOf = (file: string): string => file.replace(/(\.json)?$/, '.cost.json');

/** Costs are only shown, so that a file without them will do. @throws when there is no such file */
export function readGolden(file: string): Golden {
  const read = (from: string) => JSON.parse(readFileSync(from, 'utf8'));
  return { ...read(file), costs: existsSync(costsOf(file)) ? read(costsOf(file)) : {} };
}

/** One line for each subject and check, sorted for the sake of diffs. */
export function writeGolden(file: string, { checks, subjects, costs }: Golden): void {
  const sorted = <T>(table: Record<string, T>) => Object.entries(table).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const golden = { seeds: SEEDS.join(OR), subjects: Object.fromEntries(sorted(subjects)), checks: checks.toSorted() };
  writeFileSync(file, `${JSON.stringify(golden, null, 2)}\n`);
  const costLines = sorted(costs).map(([name, [requests, seconds]]) => `  "${name}": [${requests}, ${seconds}]`);
  writeFileSync(costsOf(file), `{\n${costLines.join(',\n')}\n}\n`);
}

/**
 * `lost`, `gained`: worse, or better, with every seed than with any before. `moved`: another requirement leads on a
 * defect, and the check is blocked or not asked. `unsteady`: only one seed shows it, or it is green without being
 * decided.
 */
const CHANGES = ['lost', 'moved', 'unsteady', 'gained'] as const;
export interface Change {
  what: (typeof CHANGES)[number];
  subject: string;
  /** Id of the check, or `first`. */
  id: string;
  was: string;
  is: string;
}

/** Changes of the subjects in `after`; a subject that is no longer `known` is a change too. */
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
    // Presence of a check matters only where it is, or was, red on a defect.
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

/** One line for each requirement and change, with its subjects; and the cost of all these subjects. */
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
    // Seconds of parallel subjects add up.
    `requests: ${sum(before, 0)} → ${sum(after, 0)}; seconds: ${sum(before, 1)} → ${sum(after, 1)}`,
  ];
}
