/** What makes findings the same: their words, without what differs from one request or run to the next. */
import { printable } from '../common/terminal.ts';
import type { Finding } from './types.ts';

const LIST = /\[(|\d[\d, –….]*)\](?: \(\d+\))?/g;

/** Ids, times and lengths differ from one request to the next, so numbers do not count. */
export const withoutNumbers = (text: string): string => text.replaceAll(LIST, '[#]').replaceAll(/\d+/g, '#');

/** What was expected and seen. */
export type FindingText = Pick<Finding, 'expected' | 'actual'>;

/**
 * A finding in words that are the same in every run: without ids, times, ports, temporary paths, bodies, and numbers.
 * What tells one finding from another stays: a status, which ends of the list that was due a list has, and which number
 * is that of the other side (`event #, the first after #a; actual: event #a`).
 */
export function comparable({ expected = '', actual = '' }: Partial<FindingText>): FindingText {
  const [due = ''] = /(?<=\[)\d[\d, –….]*(?=\])/.exec(expected) ?? [];
  const numbersIn = (text: string): string[] => text.replaceAll(LIST, '').match(NUMBER) ?? [];
  const seen = new Set(numbersIn(actual));
  const shared = [...seen.intersection(new Set(numbersIn(expected)))];
  const named = (number: string): string => `#${'abcdefghij'[shared.indexOf(number)] ?? ''}`;
  return { expected: inWords(expected, due, named), actual: inWords(actual, due, named) };
}

/** Readers check it in a file. What is longer repeats itself. */
const LONGEST = 300;
/** Characters that can matter to that. */
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

/** `[first … last]`, `[…]`: which ends of the list that was due a list of numbers has. How many it has varies. */
function partOf(due: string, numbers: string): string {
  const [first = '', last = ''] = [/^\d+/.exec(numbers)?.[0], /\d+$/.exec(numbers)?.[0]];
  if (first === '') return '[]';
  const from = /^\d+/.exec(due)?.[0] === first ? 'first ' : '';
  const to = /\d+$/.exec(due)?.[0] === last ? ' last' : '';
  return `[${from}…${to}]`;
}

/** An object to the end of the text: where it ends cannot be told once it was cut. */
const OBJECT = /\{".*/s;
/** What came before a failure: as much as there was. */
const BEFORE = /(?<=last events: |events before it: |last lines that it wrote:).*/s;
/** A quoted body: one with a line break or a quote in it. */
const ESCAPED = /"[^"\\]*\\.(?:[^"\\]|\\.)*(?:"|$)/gs;
/** One that stands for itself, and not inside an id, a time or a version. */
const NUMBER = /(?<![\w.:-])\d+(?![\w:-]|\.\d)/g;
const TEMPORARY = /(?:\/private)?\/(?:tmp|var\/tmp|var\/folders)\/[^\s"',;:)]+/g;
const DAYS_AND_MONTHS = /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b/g;
/** The same words several times: as many as there were files, or events. */
const AGAIN = /(?<=^|[;:,] )([^;:,]+)(?:[;,] \1)+(?=[;,]|$)/g;
const VARYING = new RegExp(
  [
    // A status begins the text, or stands before its media type or body. 500 is another finding than 200.
    String.raw`((?<=^|[\s(])[1-5]\d\d(?= (?:["{[]|[a-z]+/[a-z]))|^[1-5]\d\d(?=$|[,;:]| (?:with|and|for) ))`,
    // Ids, whether or not there is a digit in them.
    String.raw`\b[a-z]{3}(?:_[a-z]{3,4})?_[a-z\d]{10,}\b`,
    // Any other word of letters and digits: a UUID, a token, an id.
    String.raw`\b(?=[a-z_-]*\d)(?=[\d_-]*[a-z])[a-z\d_-]{6,}\b`,
    String.raw`\d+(?:\.\d+)*`,
  ].join('|'),
  'gi',
);
