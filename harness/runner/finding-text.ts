/** Similarity of findings: their words without parts that vary between requests or runs. */
import { printable } from '../common/terminal.ts';
import type { Finding } from './types.ts';

const LIST = /\[(|\d[\d, –….]*)\](?: \(\d+\))?/g;

/** Ids, times and lengths vary between requests. */
export const withoutNumbers = (text: string): string => text.replaceAll(LIST, '[#]').replaceAll(/\d+/g, '#');

export type FindingText = Pick<Finding, 'expected' | 'actual'>;

/**
 * Words of a finding without ids, times, ports, temporary paths, bodies and numbers, so that every run has the same.
 * Keeps the status, the ends of a list, and a number that the other side names (`event #, the first after #a; actual:
 * event #a`).
 */
export function comparableText({ expected = '', actual = '' }: Partial<FindingText>): FindingText {
  const [due = ''] = /(?<=\[)\d[\d, –….]*(?=\])/.exec(expected) ?? [];
  const numbersIn = (text: string): string[] => text.replaceAll(LIST, '').match(NUMBER) ?? [];
  const seen = new Set(numbersIn(actual));
  const shared = [...seen.intersection(new Set(numbersIn(expected)))];
  const named = (number: string): string => `#${'abcdefghij'[shared.indexOf(number)] ?? ''}`;
  return { expected: inWords(expected, due, named), actual: inWords(actual, due, named) };
}

/** Characters kept: longer texts repeat themselves, and people read these in a file. */
const LONGEST = 300;
/** Characters read before the cut. */
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

/** Ends of the expected list found in `numbers`, as `[first … last]` or `[…]`: lengths vary. */
function partOf(due: string, numbers: string): string {
  const [first = '', last = ''] = [/^\d+/.exec(numbers)?.[0], /\d+$/.exec(numbers)?.[0]];
  if (first === '') return '[]';
  const from = /^\d+/.exec(due)?.[0] === first ? 'first ' : '';
  const to = /\d+$/.exec(due)?.[0] === last ? ' last' : '';
  return `[${from}…${to}]`;
}

/** JSON up to the end: a cut text has no closing brace. */
const OBJECT = /\{".*/s;
/** Events or lines before a failure. */
const BEFORE = /(?<=last events: |events before it: |last lines that it wrote:).*/s;
/** Quoted body, told by a line break or a quote inside. */
const ESCAPED = /"[^"\\]*\\.(?:[^"\\]|\\.)*(?:"|$)/gs;
/** Number by itself, outside ids, times and versions. */
const NUMBER = /(?<![\w.:-])\d+(?![\w:-]|\.\d)/g;
const TEMPORARY = /(?:\/private)?\/(?:tmp|var\/tmp|var\/folders)\/[^\s"',;:)]+/g;
const DAYS_AND_MONTHS = /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b/g;
/** Phrase repeated for each file or event. */
const AGAIN = /(?<=^|[;:,] )([^;:,]+)(?:[;,] \1)+(?=[;,]|$)/g;
const VARYING = new RegExp(
  [
    // Keeps a status at the beginning or before a media type or body: 500 and 200 are different findings.
    String.raw`((?<=^|[\s(])[1-5]\d\d(?= (?:["{[]|[a-z]+/[a-z]))|^[1-5]\d\d(?=$|[,;:]| (?:with|and|for) ))`,
    // Ids, even without a digit.
    String.raw`\b[a-z]{3}(?:_[a-z]{3,4})?_[a-z\d]{10,}\b`,
    // UUIDs, tokens and other words of letters and digits.
    String.raw`\b(?=[a-z_-]*\d)(?=[\d_-]*[a-z])[a-z\d_-]{6,}\b`,
    String.raw`\d+(?:\.\d+)*`,
  ].join('|'),
  'gi',
);
