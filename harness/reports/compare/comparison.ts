/**
 * Puts entries beside each other: requirement by requirement, and choice by choice where the specification is silent.
 */

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, UsageError } from '../../common/usage.ts';
import { type Api, LEVELS, type Level, type Observed, type Outcome, type Report } from '../../runner/types.ts';
import { judged, type Statement, statement } from '../certificate/statement.ts';
import { plural } from '../findings.ts';
import { looksLikeReport, readJson, reportFrom } from '../json.ts';

// What `muster compare` puts beside each other: the reports of runs, and certificates.

/** One implementation at one time. */
export interface Entry {
  /** E.g. `agent 1.3.0`; unique among those that are compared. */
  label: string;
  api: Api;
  /** ISO 8601. */
  startedAt: string;
  checks: EntryCheck[];
}

/** What one check came to there. A certificate holds no words of its requirement. */
export interface EntryCheck extends ReturnType<typeof judged> {
  requirement?: string;
  observed: readonly Observed[];
}

/**
 * The entries in files and folders. A folder is a history: its reports in the order in which they were made.
 *
 * @throws UsageError that names the file
 */
export function readEntries(paths: readonly string[]): Entry[] {
  return paths.flatMap((path) => (isFolder(path) ? historyIn(path) : [entryIn(path)]));
}

/** Most characters that all labels may begin with. */
const LONGEST_START = 24;

/**
 * A label for each, made unique by a number where two would be the same. What all of them begin with is left out when
 * it is long.
 */
export function labelled(given: readonly Entry[]): Entry[] {
  const start = commonStart(given.map(({ label }) => label));
  const entries =
    start.length <= LONGEST_START ? given : given.map((entry) => ({ ...entry, label: shortened(entry.label, start) }));
  const total = Map.groupBy(entries, ({ label }) => label);
  const seen = new Map<string, number>();
  return entries.map((entry) => {
    if (total.get(entry.label)?.length === 1) return entry;
    const number = (seen.get(entry.label) ?? 0) + 1;
    seen.set(entry.label, number);
    return { ...entry, label: `${entry.label} #${number}` };
  });
}

/** A label that is nothing but the start stays whole. */
const shortened = (label: string, start: string): string =>
  label.length < start.length ? label : `… ${label.slice(start.length)}`;

/** Whole words that all labels begin with. */
function commonStart([first = '', ...others]: readonly string[]): string {
  const words = first.split(' ');
  const starts = words.map((_, index) => `${words.slice(0, index + 1).join(' ')} `);
  return starts.findLast((start) => others.every((other) => `${other} `.startsWith(start))) ?? '';
}

/** The entry of a report. Without `label`, the name and the version of the target, or else its address. */
export function entryOf(report: Report, label?: string): Entry {
  const { api, target, started_at: startedAt, checks } = report;
  const named = [target.name, target.version].filter((part) => part !== undefined).join(' ');
  return {
    label: label ?? (named === '' ? target.address : named),
    api,
    startedAt,
    checks: checks
      // Complaints about a baseline have no section and are no checks.
      .filter(({ section }) => section !== '')
      .map((check) => ({ ...judged(check), requirement: check.requirement, observed: check.observed ?? [] })),
  };
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

function historyIn(folder: string): Entry[] {
  const entries = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .flatMap((name) => {
      const file = join(folder, name);
      const entry = entryFrom(readJson(file), file);
      return entry === undefined ? [] : [entry];
    });
  if (entries.length === 0) throw new UsageError(`${folder}: holds no report in JSON and no certificate`);
  return entries.toSorted((a, b) => a.startedAt.localeCompare(b.startedAt));
}

function entryIn(file: string): Entry {
  const entry = entryFrom(readJson(file), file);
  if (entry !== undefined) return entry;
  throw new UsageError(
    `${file}: is neither a report of \`muster check\` in JSON (--report json=FILE), nor a certificate, nor a ` +
      'folder of these',
  );
}

function entryFrom(value: unknown, file: string): Entry | undefined {
  if (looksLikeReport(value)) return entryOf(reportFrom(value, file));
  const certified = certifiedBy(value);
  return certified === undefined ? undefined : entryOfCertificate(certified);
}

/** The statement in an envelope. Its signature is not looked at: `muster verify` does that. */
function certifiedBy(value: unknown): Statement | undefined {
  const payload = typeof value === 'object' && value !== null && 'payload' in value ? value.payload : undefined;
  if (typeof payload !== 'string') return undefined;
  try {
    const content: unknown = JSON.parse(Buffer.from(payload, 'base64').toString('utf8'));
    return statement.is(content) ? content : undefined;
  } catch {
    return undefined;
  }
}

function entryOfCertificate({ subject, predicate: { muster } }: Statement): Entry {
  const named = [muster.subject_name, muster.subject_version].filter((part) => part !== undefined).join(' ');
  const observed = Map.groupBy(muster.observed ?? [], ({ check }) => check);
  return {
    label: `${named === '' ? (subject[0]?.name ?? 'a subject') : named} (certificate)`,
    api: muster.api,
    startedAt: muster.started_at,
    checks: muster.verdicts.map((verdict) => ({ ...judged(verdict), observed: observed.get(verdict.id) ?? [] })),
  };
}

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
const BROKEN: ReadonlySet<Outcome | undefined> = new Set(['fail', 'warn', 'known', 'flaky']);

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
  const ids = [...new Set(checks.flatMap((byId) => [...byId.keys()]))];
  return ids
    .map((id): RequirementRow => {
      const found = checks.map((byId) => byId.get(id));
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

// Whether the last of the compared entries may follow the one before it.

/** What `--gate` takes. */
export const GATES = ['none', 'regressions', 'behaviour'] as const;
/** `regressions`: what held must hold. `behaviour`: and no choice may change where the specification is silent. */
export type Gate = (typeof GATES)[number];

/** What a gate makes of the changes. */
export interface GateVerdict {
  word: 'COMPARED' | 'NO REGRESSION' | 'REGRESSED' | 'CHANGED' | 'UNDECIDED';
  /** `warn` where nothing was asked for and something no longer holds. */
  tone: 'pass' | 'warn' | 'fail';
  /** The exit code: 0, 1 when it may not follow, 2 when that is not decided. */
  code: number;
  meaning: string;
}

/** The verdict of a gate. */
export function verdictOf({ regressions, undecided, behaviour }: Changes, gate: Gate): GateVerdict {
  const broken = regressions.length > 0;
  const held = broken ? `${holds(regressions.length)} no longer` : 'nothing that held has failed';
  if (gate === 'none') {
    const meaning = `${held}; --gate was not given`;
    return { word: 'COMPARED', tone: broken ? 'warn' : 'pass', code: EXIT.conformant, meaning };
  }
  if (broken) return { word: 'REGRESSED', tone: 'fail', code: EXIT.nonconformant, meaning: held };
  if (gate === 'behaviour' && behaviour.length > 0) {
    const meaning = `${plural(behaviour.length, 'choice')} changed where the specification is silent`;
    return { word: 'CHANGED', tone: 'fail', code: EXIT.nonconformant, meaning };
  }
  if (undecided.length > 0) {
    const are = undecided.length === 1 ? 'is' : 'are';
    const meaning = `${plural(undecided.length, 'check')} passed before and ${are} blocked now`;
    return { word: 'UNDECIDED', tone: 'fail', code: EXIT.incomplete, meaning };
  }
  return { word: 'NO REGRESSION', tone: 'pass', code: EXIT.conformant, meaning: held };
}

const holds = (count: number): string => `${plural(count, 'requirement')} ${count === 1 ? 'holds' : 'hold'}`;
