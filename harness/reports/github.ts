/** Reporter for GitHub Actions: annotations on standard output, and a summary of the job in Markdown. */
import { appendFileSync } from 'node:fs';
import { escapeText } from '../common/html.ts';
import { cutTo, printable } from '../common/terminal.ts';
import { readableDuration } from '../common/units.ts';
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
import { type LiveFormat, writeReport } from './format.ts';
import { coverageLine, headlineOf } from './verdict.ts';

/** Maximum annotations of a kind in a step; GitHub drops further annotations silently. */
const ANNOTATIONS = 10;

/** `file` replaces `$GITHUB_STEP_SUMMARY`. */
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

/**
 * Errors, then warnings, then the verdict. A blocked check is a warning, because no requirement failed; it is an error
 * after a fault in Muster.
 */
export function annotations(report: Report): string[] {
  const { word, meaning } = headlineOf(report);
  const annotation = (group: FindingGroup): Annotation => [titleOf(group.lead), words(group)];
  const failsByIt = ({ lead }: FindingGroup): boolean => lead.fails_by !== undefined;
  const warnings = findingsOf(report, 'warn');
  const annotationsOf = (results: readonly CheckResult[], prefix = ''): Annotation[] =>
    results.map((lead) => [prefix + titleOf(lead), words({ lead, consequences: [], blocked: [] })]);
  const stale = report.checks.filter(({ outcome }) => outcome === 'fixed');
  const undecided = report.unreachable === undefined ? blockedOtherwise(report.checks) : [];
  const isFault = ({ fault }: CheckResult): boolean => fault === true;
  const blocked = undecided.filter((result) => !isFault(result));
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
      ...annotationsOf(blocked, 'blocked: '),
    ]),
    command('notice', `muster: ${word.toLowerCase()}`, lines(meaning, coverageLine(report)).join('\n')),
  ];
}

type Annotation = readonly [title: string, message: string];

const titleOf = ({ id, level, section }: CheckResult): string => `${id} (${level}, section ${section})`;

function limited(kind: 'error' | 'warning', all: readonly Annotation[]): string[] {
  const shown = all.length > ANNOTATIONS ? all.slice(0, ANNOTATIONS - 1) : all;
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

function command(kind: string, title: string, message: string): string {
  const data = (text: string): string => printable(text).replaceAll('%', '%25').replaceAll('\n', '%0A');
  const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
  return `::${kind} title=${property(title)}::${data(message)}\n`;
}

/** GitHub drops a summary above 1 MiB. */
const MOST_BYTES = 1_000_000;
const SHOWN = 50;
const BRIEF = 120;

export function markdownReport(report: Report): string {
  const { word, good, meaning } = headlineOf(report);
  const { unreachable } = report;
  const how = coverageLine(report);
  const reached = unreachable === undefined;
  const sections = bySection(report.checks).map(
    ({ section, title, checks }) =>
      `| ${SYMBOLS[worst(checks)]} | ${section} ${title} | ${counts(summaryOf(checks))} |`,
  );
  const untrue = differencesIn(report).map((text) => `- ${cell(text)}`);
  const all = lines(
    `## ${good ? '✅' : '❌'} ${word}: ${report.api} at ${code(cutTo(report.target.address, BRIEF))}`,
    '',
    `${tally(report)} in ${readableDuration(report.duration_ms)} · seed ${report.seed}. ${cell(sentence(meaning))}.`,
    '',
    how !== undefined && [`${cell(sentence(how))}.`, ''],
    unreachable !== undefined && [cell(unreachable), ''],
    details('Failed', findingsOf(report, 'fail')),
    reached && grouped('Blocked', blockedOtherwise(report.checks), 'blocked'),
    untrue.length > 0 && [`### ${NOT_AS_DECLARED}`, '', ...untrue, ''],
    grouped('Stale in the baseline', report.checks, 'fixed'),
    details('Warned', findingsOf(report, 'warn')),
    reached && ['| | Section | |', '|---|---|---|', ...sections, ''],
    reached && grouped('Undecided', report.checks, 'undecided'),
    reached && grouped('Not applicable', report.checks, 'not_applicable'),
    grouped('Flaky', report.checks, 'flaky'),
    grouped('Known', report.checks, 'known'),
  );
  const text = Buffer.from(printable(all.join('\n')));
  if (text.length <= MOST_BYTES) return `${text}\n`;
  const begin = text.toString('utf8', 0, MOST_BYTES).replace(/\ufffd$/, '');
  return `${begin}\n\n… cut: see the other reports of this run.\n`;
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
  const brief = open ? '' : ` · ${escapeText(cutTo(printable(result.actual ?? result.reason ?? ''), BRIEF))}`;
  const commands = lines(
    tryLine(result) ?? scriptLines(result),
    exchangesOf(result, { most: 3 }).flatMap(({ headline, lines: shown }) => [
      `# ${headline}`,
      ...shown.map((line) => `#   ${line}`),
    ]),
    result.replay_command,
  );
  const fence = '`'.repeat(Math.max(3, longestRun(commands.join('\n')) + 1));
  return lines(
    `<details${open ? ' open' : ''}><summary><b>${escapeText(result.id)}</b> · ${result.level} · section ` +
      `${result.section}${brief}</summary>`,
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
    [`${fence}sh`, ...commands, fence, ''],
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

/** Text on one line, without Markdown markup or mentions of users. */
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

const longestRun = (text: string): number => Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
