import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../../common/defined.ts';
import { jsonOf } from '../../common/lenient.ts';
import { UsageError, usage } from '../../common/usage.ts';
import type { Api, CheckResult, Observed, Report } from '../../runner/types.ts';
import { type Statement, statement } from '../certificate/statement.ts';
import { looksLikeReport, readJson, reportFrom } from '../json.ts';

export interface Entry {
  label: string;
  name?: string;
  source: string;
  api: Api;
  requirementsVersion: string;
  size: number;
  startedAt: string;
  checks: EntryCheck[];
}

export type EntryCheck = Pick<CheckResult, 'id' | 'level' | 'section' | 'outcome' | keyof Said> & {
  requirement?: string;
  observed?: readonly Observed[];
};

export type Said = Pick<CheckResult, 'expected' | 'actual' | 'reason' | 'consequence_of' | 'rate'>;

/** Sorts the files of a folder by the start of their run. Throws UsageError with the file. */
export function readEntries(paths: readonly string[]): Entry[] {
  return paths.flatMap((path) => {
    const entries = recordedIn(path).map((each) =>
      'report' in each ? entryOf(each.report, each.file) : entryOfCertificate(each.certified, each.file),
    );
    return entries.toSorted((a, b) => a.startedAt.localeCompare(b.startedAt));
  });
}

/** Labels entries by target if all targets differ, else by file or command; adds numbers to equal labels. */
export function labelled(given: readonly Entry[]): Entry[] {
  const names = new Set(given.map(({ name }) => name));
  const isByName = names.size === given.length && !names.has(undefined);
  const [first, ...others] = given;
  const words = `${first?.source} `.split(/(?<=[/ ])/);
  const starts = words.map((_, index) => words.slice(0, index + 1).join(''));
  const start = starts.findLast((text) => others.every(({ source }) => `${source} `.startsWith(text))) ?? '';
  const isFolder = start.endsWith('/');
  const labels = given.map(({ name = '', source }) => {
    if (isByName) return name;
    if (source.length < start.length || (!isFolder && start.length <= 24)) return source;
    return `${isFolder ? '' : '… '}${source.slice(start.length)}`;
  });
  const total = Map.groupBy(labels, (label) => label);
  return given.map((entry, index) => {
    const label = labels[index] ?? entry.source;
    const number = labels.slice(0, index + 1).filter((other) => other === label).length;
    return { ...entry, label: total.get(label)?.length === 1 ? label : `${label} #${number}` };
  });
}

export function entryOf(report: Report, source: string): Entry {
  const { api, target, started_at: startedAt, coverage, requirements_version: requirementsVersion } = report;
  return {
    label: source,
    source,
    api,
    startedAt,
    requirementsVersion,
    size: coverage.checks,
    checks: report.checks.filter(({ section }) => section !== ''),
    ...defined({ name: named(target.name, target.version) }),
  };
}

const named = (name: string | undefined, version: string | undefined): string | undefined =>
  name === undefined ? undefined : [name, version].filter((part) => part !== undefined).join(' ');

type Recorded = { file: string } & ({ report: Report } | { certified: Statement });

/** Reports and certificates at `path`, sorted by file name. Throws UsageError if there are none. */
export function recordedIn(path: string): Recorded[] {
  if (usage(path, () => statSync(path, { throwIfNoEntry: false }))?.isDirectory() !== true) {
    const recorded = recordedAs(path);
    if (recorded !== undefined) return [recorded];
    throw new UsageError(
      `${path}: is neither a report of \`muster check\` in JSON (--report json=FILE), nor a certificate, nor a ` +
        'folder of these',
    );
  }
  const files = usage(path, () => readdirSync(path)).filter((name) => name.endsWith('.json'));
  const recorded = files.sort().flatMap((name) => recordedAs(join(path, name)) ?? []);
  if (recorded.length === 0) throw new UsageError(`${path}: holds no report in JSON and no certificate`);
  return recorded;
}

function recordedAs(file: string): Recorded | undefined {
  const value = readJson(file);
  if (looksLikeReport(value)) return { file, report: reportFrom(value, file) };
  // Reads a certificate without its signature, which only `muster verify` checks.
  const payload = typeof value === 'object' && value !== null && 'payload' in value ? value.payload : undefined;
  if (typeof payload !== 'string') return undefined;
  const certified = jsonOf(Buffer.from(payload, 'base64').toString('utf8'));
  return statement.is(certified) ? { file, certified } : undefined;
}

function entryOfCertificate({ subject, predicate: { muster } }: Statement, source: string): Entry {
  const observed = Map.groupBy(muster.observed ?? [], ({ check }) => check);
  return {
    label: source,
    name: `${named(muster.subject_name, muster.subject_version) ?? subject[0]?.name ?? 'a subject'} (certificate)`,
    source,
    api: muster.api,
    startedAt: muster.started_at,
    requirementsVersion: muster.requirements_version,
    size: muster.verdicts.length,
    checks: muster.verdicts.map((verdict) => ({ ...verdict, observed: observed.get(verdict.id) ?? [] })),
  };
}
