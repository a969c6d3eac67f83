/** Compares reports: outcomes of requirements, and choices that the specification leaves to implementations. */

import { defined } from '../../common/defined.ts';
import { EXIT, UsageError } from '../../common/usage.ts';
import { isHeld } from '../../runner/define.ts';
import { LEVELS, type Level, type Outcome, type Requirement } from '../../runner/types.ts';
import { lines, plural } from '../findings.ts';
import { type Entry, type EntryCheck, labelled, type Said } from './entries.ts';

export interface Comparison {
  entries: readonly Entry[];
  requirements: RequirementRow[];
  choices: ChoiceRow[];
  steps: Changes[];
  changes: Changes;
}

export interface RequirementRow {
  id: string;
  level: Level;
  section: string;
  requirement: string;
  outcomes: (Outcome | undefined)[];
  findings: (Said | undefined)[];
  differs: boolean;
}

export interface ChoiceRow {
  check: string;
  name: string;
  values: (string | undefined)[];
  differs: boolean;
}

export interface Changes {
  to: number;
  checks: number;
  both: number;
  flaky: number;
  regressions: RequirementRow[];
  undecided: RequirementRow[];
  undecidedBefore: RequirementRow[];
  inOneSet: RequirementRow[];
  mended: RequirementRow[];
  behaviour: ChoiceRow[];
}

type Outcomes = ReadonlySet<Outcome | undefined>;
const HELD: Outcomes = new Set(['pass', 'fixed']);
/** A flaky check counts as broken, whatever its last outcome. */
const BROKEN: Outcomes = new Set(['fail', 'warn', 'known', 'flaky']);
/** A warning says that each MUST of the check held. */
const WARNED: Outcomes = new Set(['warn']);
const FAILED: Outcomes = new Set(['fail']);
const DECIDED = HELD.union(BROKEN);
const OPEN: Outcomes = new Set(['blocked', 'not_applicable', 'undecided', undefined]);

type Terms = ReadonlyMap<string, Pick<Requirement, 'since' | 'until'>>;

/** Throws UsageError unless given two or more reports of the same API. */
export function compare(given: readonly Entry[], terms: Terms = new Map()): Comparison {
  if (given.length < 2) throw new UsageError('there is only one report: give two or more to compare');
  const apis = new Set(given.map(({ api }) => api));
  if (apis.size > 1) {
    const said = given.map(({ source, api }) => `${source}: ${api}`).join(', ');
    throw new UsageError(`reports of one API can be compared, and these are of ${apis.size} (${said})`);
  }
  const entries = labelled(given);
  const requirements = requirementRows(entries).toSorted((a, b) => weightOf(b) - weightOf(a));
  const choices = choiceRows(entries).toSorted((a, b) => Number(b.differs) - Number(a.differs));
  const compared = { entries, requirements, choices };
  const first = changesTo(1, compared, terms);
  const steps = [first, ...entries.slice(2).map((_, index) => changesTo(index + 2, compared, terms))];
  return { ...compared, steps, changes: steps.at(-1) ?? first };
}

function changesTo(
  to: number,
  { entries, requirements, choices }: Pick<Comparison, 'entries' | 'requirements' | 'choices'>,
  terms: Terms,
): Changes {
  const [before, now] = entries.slice(to - 1, to + 1);
  const from = (was: Outcomes, is: Outcomes): RequirementRow[] =>
    requirements.filter(({ outcomes }) => was.has(outcomes[to - 1]) && is.has(outcomes[to]));
  const isSeldom = ({ outcomes, findings }: RequirementRow): boolean => {
    const { times = 0, failed = 0 } = findings[to]?.rate ?? {};
    return outcomes[to] === 'warn' && failed < times;
  };
  const isDue = ({ id, outcomes }: RequirementRow): boolean => {
    const lacking = outcomes[to] === undefined ? now : outcomes[to - 1] === undefined ? before : undefined;
    const term = terms.get(id);
    return lacking === undefined || term === undefined || isHeld(term, lacking.requirementsVersion);
  };
  const both = from(DECIDED, DECIDED);
  const [lost, gained] = [from(DECIDED, OPEN), from(OPEN, DECIDED)];
  const listed = requirements.filter(({ outcomes }) => outcomes[to - 1] !== undefined || outcomes[to] !== undefined);
  return {
    to,
    checks: Math.max(listed.length, before?.size ?? 0, now?.size ?? 0),
    both: both.length,
    flaky: both.filter(({ outcomes }) => outcomes.slice(to - 1, to + 1).includes('flaky')).length,
    // A SHOULD that fails now and then may have done so before, unseen.
    regressions: [...from(HELD, BROKEN).filter((row) => !isSeldom(row)), ...from(WARNED, FAILED)],
    undecided: lost.filter(isDue),
    undecidedBefore: gained.filter(isDue),
    inOneSet: [...lost, ...gained].filter((row) => !isDue(row)),
    mended: from(BROKEN, HELD),
    behaviour: choices.filter(({ values }) => {
      const [was, is] = values.slice(to - 1, to + 1);
      return was !== undefined && is !== undefined && was !== is;
    }),
  };
}

function weightOf(row: RequirementRow): number {
  if (!row.differs) return 0;
  if (!judgedApart(row)) return 1;
  return row.findings.some((said) => said?.consequence_of !== undefined) ? 2 : 3;
}

export const judgedApart = ({ outcomes }: RequirementRow): boolean =>
  new Set(outcomes.filter((outcome) => DECIDED.has(outcome))).size > 1;

export function shareOf({ checks, both, flaky, undecided, undecidedBefore, inOneSet }: Changes): string {
  const alone = undecided.length + undecidedBefore.length;
  return lines(
    `${both} of ${plural(checks, 'check')} decided by both${flaky === 0 ? '' : ` (${flaky} flaky)`}`,
    alone > 0 && `${alone} by one alone`,
    inOneSet.length > 0 && `${inOneSet.length} in one requirement set alone`,
    checks > both + alone + inOneSet.length && `${checks - both - alone - inOneSet.length} by neither`,
  ).join(', ');
}

function requirementRows(entries: readonly Entry[]): RequirementRow[] {
  const checks = entries.map((entry) => new Map(entry.checks.map((check) => [check.id, check])));
  return [...new Set(checks.flatMap((byId) => [...byId.keys()]))]
    .map((id): RequirementRow => {
      const found = checks.map((byId) => byId.get(id));
      const outcomes = found.map((check) => check?.outcome);
      const known = found.filter((check) => check !== undefined);
      return {
        id,
        // The strictest level, because a check of a MUST may find a violated SHOULD.
        level: LEVELS.find((level) => known.some((check) => check.level === level)) ?? 'INFO',
        section: known[0]?.section ?? '',
        requirement: known.find(({ requirement }) => requirement !== undefined)?.requirement ?? '',
        outcomes,
        findings: found.map((check) => check && saidOf(check)),
        differs: new Set(outcomes).size > 1,
      };
    })
    .toSorted(
      (a, b) =>
        LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) ||
        a.section.localeCompare(b.section, 'en', { numeric: true }),
    );
}

function saidOf({ expected, actual, reason, consequence_of, rate }: EntryCheck): Said | undefined {
  const said: Said = defined({ expected, actual, reason, consequence_of, rate });
  return Object.keys(said).length === 0 ? undefined : said;
}

function choiceRows(entries: readonly Entry[]): ChoiceRow[] {
  const all = entries.flatMap(({ checks }, entry) =>
    checks.flatMap(({ id, observed = [] }) => observed.map((choice) => ({ check: id, ...choice, entry }))),
  );
  return [...Map.groupBy(all, ({ check, name }) => `${check}\n${name}`).values()].flatMap((choices) => {
    const values = entries.map((_, index) => {
      const own = choices.filter(({ entry }) => entry === index).map(({ value }) => value);
      return own.length === 0 ? undefined : [...new Set(own)].sort().join(', or ');
    });
    const differs = new Set(values.filter((value) => value !== undefined)).size > 1;
    const [first] = choices;
    return first === undefined ? [] : { check: first.check, name: first.name, values, differs };
  });
}

export const GATES = ['none', 'regressions', 'behaviour'] as const;
/** `regressions` fails if a requirement holds no longer; `behaviour` also fails if a free choice has changed. */
export type Gate = (typeof GATES)[number];

export interface GateVerdict {
  word: 'COMPARED' | 'NO REGRESSION' | 'REGRESSED' | 'CHANGED' | 'UNDECIDED';
  share: string;
  /** `warn`: no gate is set, and a requirement broke or the comparison is undecided. */
  tone: 'pass' | 'warn' | 'fail';
  /** Exit code: 0, 1 if the gate refuses, 2 if the gate is undecided. */
  code: number;
  meaning: string;
}

export function verdictOf({ changes }: Pick<Comparison, 'changes'>, gate: Gate): GateVerdict {
  const { regressions, undecided, undecidedBefore, behaviour, both } = changes;
  const share = shareOf(changes);
  const lost = regressions.length;
  const held =
    lost > 0
      ? `${plural(lost, 'requirement')} ${lost === 1 ? 'holds' : 'hold'} no longer`
      : 'nothing that held before has failed';
  const alone = undecided.length + undecidedBefore.length;
  const decidedAlone =
    `${plural(alone, 'check')} ${alone === 1 ? 'was' : 'were'} decided by one side alone, so that nothing says ` +
    `whether ${alone === 1 ? 'it' : 'they'} changed: check both with the same options`;
  const open = alone > 0 ? decidedAlone : both === 0 ? 'nothing was decided by both' : undefined;
  if (gate === 'none') {
    const tone = lost > 0 || open !== undefined ? 'warn' : 'pass';
    const meaning = `${lines(held, open).join('; ')}; --gate was not given`;
    return { word: 'COMPARED', share, tone, code: EXIT.conformant, meaning };
  }
  if (lost > 0) return { word: 'REGRESSED', share, tone: 'fail', code: EXIT.nonconformant, meaning: held };
  if (gate === 'behaviour' && behaviour.length > 0) {
    const meaning = `${plural(behaviour.length, 'choice')} changed where the specification is silent`;
    return { word: 'CHANGED', share, tone: 'fail', code: EXIT.nonconformant, meaning };
  }
  if (open !== undefined) return { word: 'UNDECIDED', share, tone: 'fail', code: EXIT.incomplete, meaning: open };
  return { word: 'NO REGRESSION', share, tone: 'pass', code: EXIT.conformant, meaning: held };
}
