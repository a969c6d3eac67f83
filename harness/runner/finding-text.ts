/** Removes ids, times and other varying numbers from findings, so that findings of two runs are comparable. */
import { printable } from '../common/terminal.ts';
import type { Finding } from './types.ts';

const LIST = /\[(|\d[\d, –….]*)\](?: \(\d+\))?/g;

/** Replaces every number in a finding by `#`, because numbers differ between requests. */
export const withoutNumbers = (text: string): string => text.replaceAll(LIST, '[#]').replaceAll(/\d+/g, '#');

export type FindingText = Pick<Finding, 'expected' | 'actual'>;

/**
 * Text of a finding without ids, times, ports, paths, bodies and numbers, which vary between runs.
 * Keeps HTTP statuses, and writes a number that `expected` and `actual` share as `#a`, `#b` and so on.
 */
export function comparableText({ expected = '', actual = '' }: Partial<FindingText>): FindingText {
  const [due = ''] = /(?<=\[)\d[\d, –….]*(?=\])/.exec(expected) ?? [];
  const numbersIn = (text: string): string[] => text.replaceAll(LIST, '').match(NUMBER) ?? [];
  const seen = new Set(numbersIn(actual));
  const shared = [...seen.intersection(new Set(numbersIn(expected)))];
  const named = (number: string): string => `#${'abcdefghij'[shared.indexOf(number)] ?? ''}`;
  return { expected: inWords(expected, due, named), actual: inWords(actual, due, named) };
}

/** Maximum number of characters of a finding's text in the baseline file. */
const LONGEST = 300;
const READ = 4000;

const inWords = (text: string, due: string, named: (number: string) => string): string => {
  const words = printable(text.slice(0, READ))
    .replaceAll(LIST, (_, numbers: string) => partOf(due, numbers))
    .replace(OBJECT, '{…}')
    .replace(BEFORE, '…')
    .replaceAll(ESCAPED, '"…"')
    .replaceAll(TEMPORARY, '/tmp/#')
    .replaceAll(DAYS_AND_MONTHS, '#')
    .replaceAll(VARYING, (all: string, status: string | undefined) => status ?? named(all))
    .replaceAll(AGAIN, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return words.length <= LONGEST ? words : `${words.slice(0, LONGEST)}…`;
};

function partOf(due: string, numbers: string): string {
  const [first = '', last = ''] = [/^\d+/.exec(numbers)?.[0], /\d+$/.exec(numbers)?.[0]];
  if (first === '') return '[]';
  const from = /^\d+/.exec(due)?.[0] === first ? 'first ' : '';
  const to = /\d+$/.exec(due)?.[0] === last ? ' last' : '';
  return `[${from}…${to}]`;
}

/** Matches JSON up to the end of the text, because shortened JSON may lack its closing brace. */
const OBJECT = /\{".*/s;
const BEFORE = /(?<=last events: |events before it: |last lines that it wrote:).*/s;
const ESCAPED = /"[^"\\]*\\.(?:[^"\\]|\\.)*(?:"|$)/gs;
const NUMBER = /(?<![\w.:-])\d+(?![\w:-]|\.\d)/g;
const TEMPORARY = /(?:\/private)?\/(?:tmp|var\/tmp|var\/folders)\/[^\s"',;:)]+/g;
const DAYS_AND_MONTHS = /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b/g;
const AGAIN = /(?<=^|[;:,] )([^;:,]+)(?:[;,] \1)+(?=[;,]|$)/g;
const VARYING = new RegExp(
  [
    // Captures an HTTP status, which stays in the text, because statuses 500 and 200 are different findings.
    String.raw`((?<=^|[\s(])[1-5]\d\d(?= (?:["{[]|[a-z]+/[a-z]))|^[1-5]\d\d(?=$|[,;:]| (?:with|and|for) ))`,
    String.raw`\b[a-z]{3}(?:_[a-z]{3,4})?_[a-z\d]{10,}\b`,
    String.raw`\b(?=[a-z_-]*\d)(?=[\d_-]*[a-z])[a-z\d_-]{6,}\b`,
    String.raw`\d+(?:\.\d+)*`,
  ].join('|'),
  'gi',
);
