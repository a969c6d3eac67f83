/** The parts of a finding in plain text, shortened to what a person reads. The JSON report has all of them whole. */
import type { Recorded } from '../client/recorder.ts';
import { readableDuration } from '../common/durations.ts';
import { printable } from '../common/terminal.ts';
import type { CheckResult } from '../runner/types.ts';

/** All of a finding as plain text, for reports that have one field for it. */
export function findingText(result: CheckResult): string {
  const line = (label: string, text: string | undefined): string[] =>
    text === undefined ? [] : [`${label.padEnd(10)} ${printable(text)}`];
  return [
    ...line('requires', `${result.requirement} (${result.level}, section ${result.section})`),
    ...line('expected', result.expected),
    ...line('actual', result.actual),
    ...line('smallest', counterexample(result)),
    ...line('reason', result.reason),
    ...line('cause', result.consequence_of === undefined ? undefined : `the same as of ${result.consequence_of}`),
    ...line('try', tryLine(result)),
    ...(scriptLines(result) ?? []).map((text, index) => `${(index === 0 ? 'script' : '').padEnd(10)} ${text}`),
    ...(result.exchanges ?? []).flatMap((exchange) => [
      ...line('exchange', headline(exchange)),
      ...bodyLines(exchange).map((body) => `           ${body}`),
    ]),
    ...line('again', result.replay_command),
  ].join('\n');
}

/** Most characters of a counterexample that a person reads. */
const COUNTEREXAMPLE = 1000;

/** The counterexample as text. */
export function counterexample({ counterexample: value }: CheckResult): string | undefined {
  if (value === undefined) return undefined;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= COUNTEREXAMPLE ? text : `${text.slice(0, COUNTEREXAMPLE)}… (${text.length} characters)`;
}

const LINES = 6;
/** Longest line of a body, in characters. */
const COLUMNS = 160;
const PATH = 200;
/** Longest command; a shell may not take a longer one. */
const TRY = 4000;

/** `GET /v0.2/events?after=7 → 200 text/event-stream (12 ms)`. */
export function headline(exchange: Recorded): string {
  const answer =
    exchange.status === undefined
      ? (exchange.error ?? 'no answer')
      : [exchange.status, exchange.response_headers?.['content-type'] ?? ''].join(' ').trim();
  const path = shortened(exchange.url.replace(/^[a-z]+:\/\/[^/?]*/, '') || '/', PATH);
  return printable(`${exchange.method} ${path} → ${answer} (${readableDuration(exchange.duration_ms)})`);
}

/** The bodies, shortened, `>` for what was sent and `<` for what came back. */
export function bodyLines(exchange: Recorded, columns: number = COLUMNS): string[] {
  return [
    ...excerpt(exchange.request_body, columns).map((line) => `> ${line}`),
    ...excerpt(exchange.response_body, columns).map((line) => `< ${line}`),
    ...(exchange.error !== undefined && exchange.status !== undefined ? [`< ${printable(exchange.error)}`] : []),
  ];
}

/** The script that drives the target and asks it again, by lines. */
export const scriptLines = ({ script }: CheckResult): string[] | undefined =>
  script === undefined ? undefined : printable(script).trimEnd().split('\n');

/** The line that shows the finding, shortened. */
export const tryLine = ({ curl }: CheckResult): string | undefined =>
  curl === undefined ? undefined : printable(shortened(curl, TRY));

/** Of a text that was cut before, it says how long that was. */
const shortened = (text: string, limit: number): string =>
  text.length <= limit
    ? text
    : `${text.slice(0, PATH)}${/… \(\d+ characters\)$/.exec(text)?.[0] ?? `… (${text.length} characters)`}`;

/** Leaves out empty lines, such as those between the frames of a stream. */
function excerpt(body: string | undefined, columns: number): string[] {
  if (body === undefined || body === '') return [];
  const lines = printable(body.replaceAll('\r\n', '\n'))
    .split('\n')
    .filter((line) => line.trim() !== '');
  const fit = (line: string): string => (line.length > columns ? `${line.slice(0, columns - 1)}…` : line);
  // "1 more line" would take the place of that line.
  if (lines.length <= LINES + 1) return lines.slice(0, LINES + 1).map(fit);
  return [...lines.slice(0, LINES).map(fit), `… ${lines.length - LINES} more lines`];
}
