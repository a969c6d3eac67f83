/** Report as Markdown, for a job summary or a merge request. */

import { readableDuration } from '../common/durations.ts';
import { escapeText } from '../common/html.ts';
import { cutTo, printable } from '../common/terminal.ts';
import { summaryOf } from '../runner/results.ts';
import type { CheckResult, Outcome, Report } from '../runner/types.ts';
import { exchangesOf } from './exchanges.ts';
import {
  AT_ONCE,
  blockedOtherwise,
  byReason,
  bySection,
  checksIn,
  counterexample,
  counts,
  differencesIn,
  type FindingGroup,
  findingsOf,
  followersIn,
  howOften,
  lines,
  NOT_AS_DECLARED,
  plural,
  SYMBOLS,
  scriptLines,
  sentence,
  tally,
  tryLine,
  worst,
} from './findings.ts';
import { coverageLine, headlineOf } from './verdict.ts';

/** Maximum number of characters in a report; GitHub drops a summary above 1 MiB. */
const LIMIT = 1_000_000;
const SHOWN = 50;
const BRIEF = 120;
const EXCHANGES = 3;

export function markdownReport(report: Report): string {
  const { word, good, meaning } = headlineOf(report);
  const { unreachable } = report;
  const how = coverageLine(report);
  const reached = unreachable === undefined;
  const all = lines(
    `## ${good ? '✅' : '❌'} ${word}: ${report.api} at ${code(cutTo(report.target.address, BRIEF))}`,
    '',
    `${tally(report)} in ${readableDuration(report.duration_ms)} · seed ${report.seed}. ${cell(sentence(meaning))}.`,
    '',
    how !== undefined && [`${cell(sentence(how))}.`, ''],
    unreachable !== undefined && [cell(unreachable), ''],
    details('Failed', findingsOf(report, 'fail')),
    reached && grouped('Blocked', blockedOtherwise(report.checks), 'blocked'),
    declared(report),
    grouped('Stale in the baseline', report.checks, 'fixed'),
    details('Warned', findingsOf(report, 'warn')),
    reached && sections(report),
    reached && grouped('Undecided', report.checks, 'undecided'),
    reached && grouped('Not applicable', report.checks, 'not_applicable'),
    grouped('Flaky', report.checks, 'flaky'),
    grouped('Known', report.checks, 'known'),
  );
  const text = printable(all.join('\n'));
  return text.length <= LIMIT ? `${text}\n` : `${text.slice(0, LIMIT)}\n\n… cut: see the other reports of this run.\n`;
}

const sections = ({ checks }: Report): string[] => [
  '| | Section | |',
  '|---|---|---|',
  ...bySection(checks).map(
    ({ section, title, checks }) =>
      `| ${SYMBOLS[worst(checks)]} | ${section} ${title} | ${counts(summaryOf(checks))} |`,
  ),
  '',
];

function declared(report: Report): string[] {
  const found = differencesIn(report);
  return found.length === 0 ? [] : [`### ${NOT_AS_DECLARED}`, '', ...found.map((text) => `- ${cell(text)}`), ''];
}

function details(heading: string, groups: readonly FindingGroup[]): string[] {
  if (groups.length === 0) return [];
  const rest = groups.length - SHOWN;
  const whole = groups.length <= AT_ONCE ? groups.length : 1;
  return lines(
    `### ${heading} (${groups.length})`,
    '',
    groups.slice(0, SHOWN).flatMap((group, index) => one(group, index < whole)),
    rest > 0 && [`… and ${rest} more.`, ''],
  );
}

function one({ lead: result, consequences, blocked }: FindingGroup, open: boolean): string[] {
  const smallest = counterexample(result);
  const rate = howOften(result);
  const ids = blocked.map(({ id }) => code(id)).join(' ');
  return lines(
    `<details${open ? ' open' : ''}><summary><b>${escapeText(result.id)}</b> · ${result.level} · section ` +
      `${result.section}${brief(result, open)}</summary>`,
    '',
    cell(result.requirement),
    '',
    result.expected !== undefined && `- **Expected** ${cell(result.expected)}`,
    result.actual !== undefined && `- **Actual** ${cell(result.actual)}`,
    smallest !== undefined && `- **Smallest** ${code(smallest)}`,
    rate !== undefined && `- **How often** ${cell(rate)}`,
    result.reason !== undefined && `- **Reason** ${cell(result.reason)}`,
    result.stderr !== undefined && `- **Wrote** ${code(result.stderr)}`,
    '',
    fence(
      lines(
        tryLine(result) ?? scriptLines(result),
        exchangesOf(result, { most: EXCHANGES }).flatMap(({ headline, lines: shown }) => [
          `# ${headline}`,
          ...shown.map((line) => `#   ${line}`),
        ]),
        result.replay_command,
      ),
    ),
    '',
    consequences.length > 0 && [
      `${followersIn(consequences)}:`,
      '',
      ...consequences.map(({ id, actual }) => `- ${code(id)} ${cell(cutTo(actual ?? '', BRIEF))}`.trimEnd()),
      '',
    ],
    blocked.length > 0 && [`${plural(blocked.length, 'check')} not run because of it: ${ids}`, ''],
    '</details>',
    '',
  );
}

const brief = ({ actual, reason }: CheckResult, open: boolean): string =>
  open ? '' : ` · ${escapeText(cutTo(printable(actual ?? reason ?? ''), BRIEF))}`;

function grouped(heading: string, checks: readonly CheckResult[], outcome: Outcome): string[] {
  const groups = byReason(checks, outcome);
  if (groups.length === 0) return [];
  return [
    `<details${outcome === 'blocked' || outcome === 'fixed' ? ' open' : ''}><summary>${heading} ` +
      `(${checksIn(groups)})</summary>`,
    '',
    ...groups.map(([reason, ids]) => `- ${cell(reason)}: ${ids.map(code).join(' ')}`),
    '',
    '</details>',
    '',
  ];
}

/** Puts a target's text on one line, without Markdown markup or mentions of users. */
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

function fence(inner: readonly string[]): string[] {
  const ticks = '`'.repeat(Math.max(3, longestRun(inner.join('\n')) + 1));
  return [`${ticks}sh`, ...inner, ticks];
}

const longestRun = (text: string): number => Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
