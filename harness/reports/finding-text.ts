/** A finding as plain text, for reports that have one field for all of it. */

import { printable } from '../common/terminal.ts';
import type { CheckResult } from '../runner/types.ts';
import { bodyLines, headline, tryLine } from './exchange.ts';

export function findingText(result: CheckResult, again?: string): string {
  const line = (label: string, text: string | undefined): string[] =>
    text === undefined ? [] : [`${label.padEnd(10)} ${printable(text)}`];
  return [
    ...line('requires', `${result.requirement} (${result.level}, section ${result.section})`),
    ...line('expected', result.expected),
    ...line('actual', result.actual),
    ...line('smallest', counterexample(result)),
    ...line('reason', result.reason),
    ...line('try', tryLine(result)),
    ...(result.exchanges ?? []).flatMap((exchange) => [
      ...line('exchange', headline(exchange)),
      ...bodyLines(exchange).map((body) => `           ${body}`),
    ]),
    ...line('again', again),
  ].join('\n');
}

export function counterexample(result: CheckResult): string | undefined {
  const { counterexample: value } = result;
  return value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
}
