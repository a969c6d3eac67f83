/** How a finding reads in a terminal. */
import { readableDuration } from '../common/durations.ts';
import { cutTo, hanging, type Paint, printable, wrap } from '../common/terminal.ts';
import { sectionTitle } from '../contract/sections.ts';
import type { CheckResult } from '../runner/types.ts';
import { bodyLines, counterexample, headline, tryLine } from './finding-text.ts';

const LABEL = 11;
const EXCHANGES = 3;

/** How a finding is written. */
export interface FindingStyle {
  paint: Paint;
  columns: number;
}

/** A finding in full. */
export function findingLines(result: CheckResult, style: FindingStyle): string[] {
  const { paint, columns } = style;
  const mark = result.outcome === 'fail' ? paint(['red', 'bold'], '✗') : paint(['yellow', 'bold'], '!');
  const where = `${result.level} · section ${result.section} ${sectionTitle(result.section)} · ${readableDuration(result.duration_ms)}`;
  const room = Math.max(30, columns - 2 - LABEL);
  const field = (label: string, text: string | undefined, format?: Parameters<Paint>[0]): string[] =>
    text === undefined
      ? []
      : hanging(
          paint('dim', label),
          wrap(printable(text), room).map((line) => (format === undefined ? line : paint(format, line))),
          4,
          LABEL,
        );
  const exchanges = (result.exchanges ?? []).slice(-EXCHANGES);
  const line = tryLine(result);
  const dropped = (result.exchanges?.length ?? 0) - exchanges.length;
  return [
    `  ${mark} ${paint('bold', result.id)}  ${paint('dim', where)}`,
    ...wrap(printable(result.requirement), columns - 4).map((line) => `    ${line}`),
    ...field('expected', result.expected, 'green'),
    ...field('actual', result.actual, 'red'),
    ...field('smallest', counterexample(result)),
    ...field('reason', result.reason),
    // Commands stay on one line: a terminal may break them, a copy must not.
    ...(line === undefined ? [] : [`    ${label(paint, 'try')}${line}`]),
    ...exchanges.flatMap((exchange, index) => [
      `    ${label(paint, index === 0 ? (dropped > 0 ? `last ${EXCHANGES}` : 'exchange') : '')}${headline(exchange)}`,
      ...bodyLines(exchange, room).map((line) => paint('dim', `    ${' '.repeat(LABEL)}${line}`)),
    ]),
    ...again(result, paint),
  ];
}

/** A finding in three lines, for those that come after many others. */
export function briefLines(result: CheckResult, { paint, columns }: FindingStyle): string[] {
  const mark = result.outcome === 'fail' ? paint(['red', 'bold'], '✗') : paint(['yellow', 'bold'], '!');
  return [
    `  ${mark} ${paint('bold', result.id)}  ${paint('dim', `${result.level} · section ${result.section}`)}`,
    ...(result.actual === undefined
      ? []
      : [`    ${label(paint, 'actual')}${paint('red', cutTo(printable(result.actual), columns - 4 - LABEL))}`]),
    ...again(result, paint),
  ];
}

const again = ({ replay_command: command }: CheckResult, paint: Paint): string[] =>
  command === undefined ? [] : [`    ${label(paint, 'again')}${command}`];

const label = (paint: Paint, text: string): string => paint('dim', text) + ' '.repeat(Math.max(1, LABEL - text.length));
