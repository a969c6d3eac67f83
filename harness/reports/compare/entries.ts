/** What `muster compare` puts beside each other: the reports of runs, and certificates. */

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../../common/defined.ts';
import { UsageError } from '../../common/usage.ts';
import type { Api, CheckResult, Observed, Outcome, Report } from '../../runner/types.ts';
import { type Statement, statement } from '../certificate/statement.ts';
import { looksLikeReport, readJson, reportFrom } from '../read.ts';

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
export interface EntryCheck extends Pick<CheckResult, 'id' | 'level' | 'section' | 'outcome'> {
  requirement?: string;
  reason?: string;
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

/** A label for each, made unique by a number where two would be the same. What all of them begin with is left out when it is long. */
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
      .map((check) => ({ ...about(check), requirement: check.requirement, observed: check.observed ?? [] })),
  };
}

interface Judged {
  id: string;
  level: CheckResult['level'];
  section: string;
  outcome: Outcome;
  reason?: string;
}

const about = ({ id, level, section, outcome, reason }: Judged): Omit<EntryCheck, 'observed'> => ({
  id,
  level,
  section,
  outcome,
  ...defined({ reason }),
});

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
    `${file}: is neither a report of \`muster check\` in JSON (--report json=FILE), nor a certificate, nor a folder of these`,
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
    checks: muster.verdicts.map((verdict) => ({ ...about(verdict), observed: observed.get(verdict.id) ?? [] })),
  };
}
