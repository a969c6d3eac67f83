/** Report as Markdown, for a job summary or a merge request. */
import { escapeText } from '../../common/html.ts';
import { printable } from '../../common/terminal.ts';
import {
  countsOf,
  inPercent,
  inState,
  isFinding,
  type MutationReport,
  type MutationSubject,
  requirementOf,
} from './report.ts';
import { foundEarlier, sinceLines } from './since.ts';

/** Findings shown: GitHub drops a step's summary above 1 MiB. */
const SHOWN = 100;

export function mutationMarkdown(report: MutationReport): string {
  const { score, exit_code: code, meaning, side, api, sections } = report;
  const rows = sections
    .filter((section) => section.score !== undefined)
    .map(
      ({ section, title, killed, survived, never_asked: never, score: reached }) =>
        `| ${section} ${cell(title)} | ${inPercent(reached)} | ${killed} | ${survived} | ${never} |`,
    );
  return `${[
    `## mutate ${side}: ${score === undefined ? 'no score' : inPercent(score)}`,
    `${countsOf(report)}, of defects and variants of the ${api}.`,
    `Exit ${code}: ${cell(meaning)}.`,
    ...sinceLines(report).map(cell),
    ...(report.subjects.some(isFinding) ? [`One of them again: ${inline(`${report.repeat} NAME`)}`] : []),
    ...(rows.length === 0
      ? []
      : [
          ['| section | score | killed | survived | never asked |', '| --- | --- | --- | --- | --- |', ...rows].join(
            '\n',
          ),
        ]),
    ...list('Brittle: the tests fail on servers that are right', inState(report.subjects, 'brittle')),
    ...list('Survived: the tests pass on servers that are wrong', inState(report.subjects, 'survived')),
    ...names('Found by an earlier run, and not judged by this one', foundEarlier(report.subjects)),
    ...names('Never asked', inState(report.subjects, 'never_asked')),
  ].join('\n\n')}\n`;
}

const cell = (text: string): string =>
  escapeText(printable(text))
    .replaceAll(/[\\`*_[\]|~]/g, '\\$&')
    .replaceAll('\n', ' ');

const inline = (text: string): string => `\`${printable(text).replaceAll('`', "'").replaceAll('\n', ' ')}\``;

function list(title: string, subjects: readonly MutationSubject[]): string[] {
  if (subjects.length === 0) return [];
  const more = subjects.length > SHOWN ? [`and ${subjects.length - SHOWN} more`] : [];
  return [`### ${title} (${subjects.length})`, ...subjects.slice(0, SHOWN).map(item), ...more];
}

function item(subject: MutationSubject): string {
  const { name, section, summary, by_hand: byHand, reason } = subject;
  const required = requirementOf(subject);
  const [{ clause, section: of } = {}] = subject.requirements;
  return [
    `- **${cell(name)}** (${section}): ${cell(summary)}`,
    ...(required === '' ? [] : [`  Required: ${cell(required)}`]),
    ...(clause === undefined ? [] : [`  Specification, section ${of}: ${cell(clause)}`]),
    ...(reason === undefined ? [] : [`  Baseline: ${cell(reason)}`]),
    `  By hand: ${inline(byHand)}`,
  ].join('  \n');
}

function names(title: string, all: readonly MutationSubject[]): string[] {
  if (all.length === 0) return [];
  return [`### ${title} (${all.length})`, all.map(({ name }) => `\`${name}\``).join(', ')];
}
