/** The report as Markdown, for a job summary or a merge request. */

import { readableDuration } from '../common/durations.ts';
import { escapeText } from '../common/html.ts';
import { cutTo, printable } from '../common/terminal.ts';
import { summarise } from '../runner/summary.ts';
import type { CheckResult, Report } from '../runner/types.ts';
import { bodyLines, counterexample, headline, tryLine } from './finding-text.ts';
import { AT_ONCE, byReason, bySection, counts, SYMBOLS, verdict, worst } from './groups.ts';

/** GitHub drops what exceeds 1 MiB of a step's summary. */
const LIMIT = 1_000_000;
const SHOWN = 50;
const BRIEF = 120;

/** The whole report; of many failures the first 50. */
export function markdownReport(report: Report): string {
  const { word, good, meaning } = verdict(report);
  const reds = report.checks.filter((check) => check.outcome === 'fail');
  const warnings = report.checks.filter((check) => check.outcome === 'warn');
  const text = [
    `## ${good ? '✅' : '❌'} ${word}: ${report.api} at ${code(report.target.address)}`,
    '',
    `${counts(report.summary)} in ${readableDuration(report.duration_ms)} · seed ${report.seed}. ${cell(meaning)}.`,
    '',
    ...details('Failed', reds),
    ...grouped('Blocked', report, 'blocked'),
    ...grouped('Stale in the baseline', report, 'fixed'),
    ...details('Warned', warnings),
    '| | Section | |',
    '|---|---|---|',
    ...bySection(report.checks).map(
      ({ section, title, checks }) =>
        `| ${SYMBOLS[worst(checks)]} | ${section} ${title} | ${counts(summarise(checks))} |`,
    ),
    '',
    ...grouped('Not applicable', report, 'not_applicable'),
    ...grouped('Known', report, 'known'),
  ].join('\n');
  return text.length <= LIMIT ? `${text}\n` : `${text.slice(0, LIMIT)}\n\n… cut: see the other reports of this run.\n`;
}

function details(heading: string, results: readonly CheckResult[]): string[] {
  if (results.length === 0) return [];
  const rest = results.length - SHOWN;
  const whole = results.length <= AT_ONCE ? results.length : 1;
  return [
    `### ${heading} (${results.length})`,
    '',
    ...results.slice(0, SHOWN).flatMap((result, index) => one(result, index < whole)),
    ...(rest > 0 ? [`… and ${rest} more.`, ''] : []),
  ];
}

function one(result: CheckResult, open: boolean): string[] {
  const smallest = counterexample(result);
  const exchanges = (result.exchanges ?? []).slice(-3);
  return [
    `<details${open ? ' open' : ''}><summary><b>${escapeText(result.id)}</b> · ${result.level} · section ${result.section}${brief(result, open)}</summary>`,
    '',
    cell(result.requirement),
    '',
    ...(result.expected === undefined ? [] : [`- **Expected** ${cell(result.expected)}`]),
    ...(result.actual === undefined ? [] : [`- **Actual** ${cell(result.actual)}`]),
    ...(smallest === undefined ? [] : [`- **Smallest** ${code(smallest)}`]),
    ...(result.reason === undefined ? [] : [`- **Reason** ${cell(result.reason)}`]),
    '',
    ...fence([
      ...[tryLine(result) ?? []].flat(),
      ...exchanges.flatMap((exchange) => [
        `# ${headline(exchange)}`,
        ...bodyLines(exchange).map((line) => `#   ${line}`),
      ]),
      ...[result.replay_command ?? []].flat(),
    ]),
    '',
    '</details>',
    '',
  ];
}

/** What the line of a closed finding says. */
const brief = ({ actual, reason }: CheckResult, open: boolean): string =>
  open ? '' : ` · ${escapeText(cutTo(printable(actual ?? reason ?? ''), BRIEF))}`;

function grouped(heading: string, report: Report, outcome: 'blocked' | 'fixed' | 'not_applicable' | 'known'): string[] {
  const groups = byReason(report.checks, outcome);
  if (groups.length === 0) return [];
  return [
    `<details${outcome === 'blocked' || outcome === 'fixed' ? ' open' : ''}><summary>${heading} (${report.summary[outcome]})</summary>`,
    '',
    ...groups.map(([reason, ids]) => `- ${cell(reason)}: ${ids.map(code).join(' ')}`),
    '',
    '</details>',
    '',
  ];
}

/** Text of a target on one line, in which nothing is markup or a mention. */
function cell(text: string): string {
  return escapeText(printable(text))
    .replaceAll(/[\\`*_[\]|#~!]/g, (character) => `\\${character}`)
    .replaceAll('@', '@\u200b')
    .replaceAll('\n', ' ');
}

function code(text: string): string {
  const clean = printable(text).replaceAll('\n', ' ').replaceAll('|', '\\|');
  const ticks = '`'.repeat(longestRun(clean) + 1);
  return clean.includes('`') ? `${ticks} ${clean} ${ticks}` : `\`${clean}\``;
}

function fence(lines: readonly string[]): string[] {
  const ticks = '`'.repeat(Math.max(3, longestRun(lines.join('\n')) + 1));
  return [`${ticks}sh`, ...lines, ticks];
}

const longestRun = (text: string): number => Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
