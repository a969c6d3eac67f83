/** Puts entries beside each other: requirement by requirement, and choice by choice where the specification is silent. */
import { UsageError } from '../../common/usage.ts';
import { LEVELS, type Level, type Outcome } from '../../runner/types.ts';
import { type Entry, type EntryCheck, labelled } from './entries.ts';

/** All that was compared. The arrays of a row have one place for each entry. */
export interface Comparison {
  entries: readonly Entry[];
  /** Those that differ come first. */
  requirements: RequirementRow[];
  choices: ChoiceRow[];
  /** From the last entry but one to the last. */
  changes: Changes;
}

/** One check and what it came to. */
export interface RequirementRow {
  id: string;
  level: Level;
  section: string;
  requirement: string;
  /** `undefined` where the entry does not have the check. */
  outcomes: (Outcome | undefined)[];
  differs: boolean;
}

/** One choice where the specification is silent. */
export interface ChoiceRow {
  check: string;
  name: string;
  /** `undefined` where it was not observed. */
  values: (string | undefined)[];
  differs: boolean;
}

/** What changed between two releases. */
export interface Changes {
  /** Held before, and does not now. */
  regressions: RequirementRow[];
  /** Held before, and is not decided now. */
  undecided: RequirementRow[];
  /** Did not hold before, and does now. */
  mended: RequirementRow[];
  /** Observed in both, with another value. */
  behaviour: ChoiceRow[];
}

const HELD: ReadonlySet<Outcome | undefined> = new Set(['pass', 'fixed']);
const BROKEN: ReadonlySet<Outcome | undefined> = new Set(['fail', 'warn', 'known']);

/** @throws UsageError when there are fewer than two entries, or entries of different APIs */
export function compare(given: readonly Entry[]): Comparison {
  if (given.length < 2) throw new UsageError('there is only one report: give two or more to compare');
  const apis = new Set(given.map(({ api }) => api));
  if (apis.size > 1) {
    const said = given.map(({ label, api }) => `${label}: ${api}`).join(', ');
    throw new UsageError(`reports of one API can be compared, and these are of ${apis.size} (${said})`);
  }
  const entries = labelled(given);
  const requirements = differencesFirst(requirementRows(entries), judgedApart);
  const choices = differencesFirst(choiceRows(entries));
  return { entries, requirements, choices, changes: changesIn(requirements, choices) };
}

function changesIn(requirements: readonly RequirementRow[], choices: readonly ChoiceRow[]): Changes {
  const from = (before: ReadonlySet<Outcome | undefined>, isNow: (outcome: Outcome | undefined) => boolean) =>
    requirements.filter(({ outcomes }) => before.has(outcomes.at(-2)) && isNow(outcomes.at(-1)));
  return {
    regressions: from(HELD, (outcome) => BROKEN.has(outcome)),
    undecided: from(HELD, (outcome) => outcome === 'blocked'),
    mended: from(BROKEN, (outcome) => HELD.has(outcome)),
    behaviour: choices.filter(({ values }) => {
      const [before, now] = values.slice(-2);
      return before !== undefined && now !== undefined && before !== now;
    }),
  };
}

const differencesFirst = <T extends { differs: boolean }>(
  rows: readonly T[],
  isTelling: (row: T) => boolean = () => false,
): T[] => {
  const weight = (row: T): number => Number(row.differs) + Number(isTelling(row));
  return rows.toSorted((a, b) => weight(b) - weight(a));
};

/** Whether two entries decided a check, and not in the same way. What one of them did not decide tells less. */
export const judgedApart = ({ outcomes }: RequirementRow): boolean =>
  new Set(outcomes.filter((outcome) => HELD.has(outcome) || BROKEN.has(outcome))).size > 1;

/** How much is alike, in a sentence. What nobody decided is alike too, and says nothing. */
export function alikeness({ requirements, choices }: Comparison): string {
  const alike = (rows: readonly { differs: boolean }[]): string =>
    `${rows.filter(({ differs }) => !differs).length} of ${rows.length}`;
  const decided = (outcome: Outcome | undefined): boolean => HELD.has(outcome) || BROKEN.has(outcome);
  const undecided = requirements.filter(({ outcomes }) => !outcomes.some(decided)).length;
  const said = `${alike(requirements)} checks and ${alike(choices)} choices are the same`;
  return undecided === 0
    ? said
    : `${said}; ${undecided} ${undecided === 1 ? 'check was' : 'checks were'} decided by none`;
}

function requirementRows(entries: readonly Entry[]): RequirementRow[] {
  const checks = entries.map((entry) => new Map(entry.checks.map((check) => [check.id, check])));
  const ids = [...new Set(checks.flatMap((of) => [...of.keys()]))];
  return ids
    .map((id): RequirementRow => {
      const found = checks.map((of) => of.get(id));
      const outcomes = found.map((check) => check?.outcome);
      const known = found.filter((check) => check !== undefined);
      return {
        id,
        level: strictest(known),
        section: known[0]?.section ?? '',
        requirement: known.find(({ requirement }) => requirement !== undefined)?.requirement ?? '',
        outcomes,
        differs: new Set(outcomes).size > 1,
      };
    })
    .toSorted(
      (a, b) =>
        LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) ||
        a.section.localeCompare(b.section, 'en', { numeric: true }),
    );
}

/** A SHOULD that does not hold inside the check of a MUST has the level SHOULD in one report and MUST in the other. */
const strictest = (checks: readonly EntryCheck[]): Level =>
  LEVELS.find((level) => checks.some((check) => check.level === level)) ?? 'INFO';

function choiceRows(entries: readonly Entry[]): ChoiceRow[] {
  const seen = entries.map(choicesOf);
  const keys = new Map(seen.flatMap((choices) => [...choices].map(([key, { check, name }]) => [key, { check, name }])));
  return [...keys].map(([key, { check, name }]) => {
    const values = seen.map((choices) => choices.get(key)?.value);
    const given = values.filter((value) => value !== undefined);
    return { check, name, values, differs: new Set(given).size > 1 };
  });
}

/** By check and name. Two values of one name are one value, in an order of their own. */
function choicesOf({ checks }: Entry): Map<string, { check: string; name: string; value: string }> {
  const all = checks.flatMap(({ id, observed }) => observed.map((choice) => ({ check: id, ...choice })));
  const groups = Map.groupBy(all, ({ check, name }) => `${check}\n${name}`);
  return new Map(
    [...groups].flatMap(([key, choices]) => {
      const [first] = choices;
      if (first === undefined) return [];
      const value = [...new Set(choices.map((choice) => choice.value))].sort().join(', or ');
      return [[key, { check: first.check, name: first.name, value }] as const];
    }),
  );
}
