/** Reporter for GitHub Actions: annotations on standard output, and a summary of the job. */
import { appendFileSync } from 'node:fs';
import { printable } from '../common/terminal.ts';
import type { CheckResult, Report } from '../runner/types.ts';
import {
  blockedOtherwise,
  differencesIn,
  type FindingGroup,
  findingsOf,
  followersIn,
  howOften,
  lines,
  plural,
  tryLine,
} from './findings.ts';
import { type LiveFormat, writeReport } from './format.ts';
import { markdownReport } from './markdown.ts';
import { coverageLine, headlineOf } from './verdict.ts';

/** Maximum number of annotations of a kind per step; GitHub drops further annotations silently. */
const LIMIT = 10;

/** Writes the summary to `file` instead of `$GITHUB_STEP_SUMMARY` if `file` is given. */
export const githubFormat: LiveFormat = {
  name: 'github',
  reporter: ({ stdout, env }, file) => ({
    onEnd(report) {
      stdout.write(annotations(report).join(''));
      const step = env['GITHUB_STEP_SUMMARY'];
      if (file !== undefined) writeReport(file, markdownReport(report));
      else if (step !== undefined && step !== '') writeReport(step, markdownReport(report), appendFileSync);
    },
  }),
};

/** Annotations: errors, then warnings, then the verdict. A blocked check only warns, because no requirement failed. */
export function annotations(report: Report): string[] {
  const annotation = (group: FindingGroup): Annotation => [titleOf(group.lead), words(group)];
  const failsByIt = ({ lead }: FindingGroup): boolean => lead.fails_by !== undefined;
  const warnings = findingsOf(report, 'warn');
  const annotationsOf = (results: readonly CheckResult[], prefix = ''): Annotation[] =>
    results.map((lead) => [prefix + titleOf(lead), words({ lead, consequences: [], blocked: [] })]);
  const stale = report.checks.filter(({ outcome }) => outcome === 'fixed');
  const undecided = report.unreachable === undefined ? blockedOtherwise(report.checks) : [];
  const isFault = ({ fault }: CheckResult): boolean => fault === true;
  return [
    ...limited('error', [
      ...[...findingsOf(report, 'fail'), ...warnings.filter(failsByIt)].map(annotation),
      ...(report.unreachable === undefined ? [] : [['the target could not be reached', report.unreachable] as const]),
      ...differencesIn(report).map((text) => ['not as declared', text] as const),
      ...annotationsOf(undecided.filter(isFault), 'a fault in Muster: '),
      ...annotationsOf(stale),
    ]),
    ...limited('warning', [
      ...warnings.filter((group) => !failsByIt(group)).map(annotation),
      ...annotationsOf(
        undecided.filter((result) => !isFault(result)),
        'blocked: ',
      ),
    ]),
    notice(report),
  ];
}

type Annotation = readonly [title: string, message: string];

const titleOf = ({ id, level, section }: CheckResult): string => `${id} (${level}, section ${section})`;

function limited(kind: 'error' | 'warning', all: readonly Annotation[]): string[] {
  const shown = all.length > LIMIT ? all.slice(0, LIMIT - 1) : all;
  const rest = all.length - shown.length;
  return lines(
    shown.map(([title, message]) => command(kind, title, message)),
    rest > 0 && command(kind, `${rest} more`, 'see the job summary'),
  );
}

function words({ lead: result, consequences, blocked }: FindingGroup): string {
  const rate = howOften(result);
  return lines(
    result.requirement,
    result.expected !== undefined && [`Expected: ${result.expected}`, `Actual: ${result.actual ?? ''}`],
    rate !== undefined && `How often: ${rate}`,
    result.reason,
    consequences.length > 0 && followersIn(consequences),
    blocked.length > 0 && `${plural(blocked.length, 'check')} not run because of it`,
    tryLine(result),
  ).join('\n');
}

function notice(report: Report): string {
  const { word, meaning } = headlineOf(report);
  return command('notice', `muster: ${word.toLowerCase()}`, lines(meaning, coverageLine(report)).join('\n'));
}

function command(kind: string, title: string, message: string): string {
  const data = (text: string): string => printable(text).replaceAll('%', '%25').replaceAll('\n', '%0A');
  const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
  return `::${kind} title=${property(title)}::${data(message)}\n`;
}
