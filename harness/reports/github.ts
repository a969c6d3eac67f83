/** GitHub Actions: annotations on standard output, and the summary of the job. */
import { appendFileSync } from 'node:fs';
import { writeWhole } from '../common/user-files.ts';
import type { CheckResult, Report } from '../runner/types.ts';
import { tryLine } from './finding-text.ts';
import type { LiveFormat } from './format.ts';
import { verdict } from './groups.ts';
import { markdownReport } from './markdown.ts';

/** GitHub shows this many annotations of a kind from one step, and drops the others silently. */
const LIMIT = 10;

/** A file takes the summary instead of `$GITHUB_STEP_SUMMARY`. */
export const githubFormat: LiveFormat = {
  name: 'github',
  reporter: ({ stdout, env }, file) => ({
    onEnd(report) {
      stdout.write(annotations(report).join(''));
      const step = env['GITHUB_STEP_SUMMARY'];
      if (file !== undefined) writeWhole(file, markdownReport(report));
      else if (step !== undefined && step !== '') appendFileSync(step, markdownReport(report));
    },
  }),
};

/** Workflow commands: errors worst first, then warnings, then the verdict. Where the limit leaves some out, the last counts them. */
export function annotations(report: Report): string[] {
  const errors = (['fail', 'blocked', 'fixed'] as const).flatMap((outcome) =>
    report.checks.filter((check) => check.outcome === outcome),
  );
  const warnings = report.checks.filter((check) => check.outcome === 'warn');
  return [...limited('error', errors), ...limited('warning', warnings), notice(report)];
}

function limited(kind: 'error' | 'warning', results: readonly CheckResult[]): string[] {
  const shown = results.length > LIMIT ? results.slice(0, LIMIT - 1) : results;
  const rest = results.length - shown.length;
  return [
    ...shown.map((result) => command(kind, `${result.id} (${result.level}, section ${result.section})`, words(result))),
    ...(rest > 0 ? [command(kind, `${rest} more`, 'see the job summary')] : []),
  ];
}

function words(result: CheckResult): string {
  const found = result.expected === undefined ? [] : [`Expected: ${result.expected}`, `Actual: ${result.actual ?? ''}`];
  return [result.requirement, ...found, ...(result.reason === undefined ? [] : [result.reason]), tryLine(result) ?? []]
    .flat()
    .join('\n');
}

function notice(report: Report): string {
  const { word, meaning } = verdict(report);
  return command('notice', `muster: ${word.toLowerCase()}`, meaning);
}

/** A workflow command, with data and properties escaped as the runner expects. */
function command(kind: string, title: string, message: string): string {
  const data = (text: string): string => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
  return `::${kind} title=${property(title)}::${data(message)}\n`;
}
