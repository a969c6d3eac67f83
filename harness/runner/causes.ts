/** Groups findings of one cause, and makes their texts comparable between runs, without ids and times. */
import { printable } from '../common/terminal.ts';
import { isFinding } from './attempts.ts';
import { allPremises, type Premised } from './plan.ts';
import type { CheckResult, Finding } from './types.ts';

const LIST = /\[(|\d[\d, –….]*)\](?: \(\d+\))?/g;

export type FindingText = Pick<Finding, 'expected' | 'actual'>;

/**
 * Text of a finding without ids, times, ports, temporary paths, bodies and numbers, which vary between runs.
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

/** Longest comparable text, in characters; `READ`: characters of the original text from which it is made. */
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

/** Extends to the end of the text, because shortened JSON may lack its closing brace. */
const OBJECT = /\{".*/s;
const BEFORE = /(?<=last events: |events before it: |last lines that it wrote:).*/s;
const ESCAPED = /"[^"\\]*\\.(?:[^"\\]|\\.)*(?:"|$)/gs;
const NUMBER = /(?<![\w.:-])\d+(?![\w:-]|\.\d)/g;
const TEMPORARY = /(?:\/private)?\/(?:tmp|var\/tmp|var\/folders)\/[^\s"',;:)]+/g;
const DAYS_AND_MONTHS = /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b/g;
const AGAIN = /(?<=^|[;:,] )([^;:,]+)(?:[;,] \1)+(?=[;,]|$)/g;
const VARYING = new RegExp(
  [
    // HTTP status, which stays in the text, because 500 and 200 are different findings.
    String.raw`((?<=^|[\s(])[1-5]\d\d(?= (?:["{[]|[a-z]+/[a-z]))|^[1-5]\d\d(?=$|[,;:]| (?:with|and|for) ))`,
    String.raw`\b[a-z]{3}(?:_[a-z]{3,4})?_[a-z\d]{10,}\b`,
    String.raw`\b(?=[a-z_-]*\d)(?=[\d_-]*[a-z])[a-z\d_-]{6,}\b`,
    String.raw`\d+(?:\.\d+)*`,
  ].join('|'),
  'gi',
);

type Grouped = Premised & { readonly requirement: { readonly id: string } };

/**
 * Sets `consequence_of` on each finding that shares its cause with a simpler finding. Two findings share a cause if
 * - their checks decide the same requirement, or
 * - the simpler check failed and is a direct or indirect premise of the other check; if it reports a deviation, the
 *   other check must have tolerated that deviation, or
 * - their checks got the same wrong answer to the same request, apart from numbers.
 */
export function groupByCause(results: readonly CheckResult[], checks: readonly Grouped[]): CheckResult[] {
  const below = allPremises(checks);
  const leads: CheckResult[] = [];
  const leadOf = new Map<string, string>();
  for (const finding of plainestFirst(results.filter(isFinding), below)) {
    const premises = below.get(finding.id) ?? [];
    const cause = leads.find(
      (lead) =>
        lead.requirement_id === finding.requirement_id ||
        (mayCause(lead, finding) && premises.some((premise) => isDecidedBy(premise, lead))) ||
        isSameAnswer(lead, finding),
    );
    if (cause === undefined) leads.push(finding);
    else leadOf.set(finding.id, cause.id);
  }
  return results.map((result) => {
    const lead = leadOf.get(result.id);
    return lead === undefined ? result : { ...result, consequence_of: lead };
  });
}

function plainestFirst(
  findings: readonly CheckResult[],
  below: ReadonlyMap<string, readonly Grouped[]>,
): CheckResult[] {
  const depth = ({ id }: CheckResult): number => below.get(id)?.length ?? 0;
  const depths = new Map<string, number>();
  for (const finding of findings) {
    const { requirement_id: requirement } = finding;
    depths.set(requirement, Math.min(depth(finding), depths.get(requirement) ?? Number.POSITIVE_INFINITY));
  }
  const rank = (finding: CheckResult): number[] => [
    severity(finding),
    depths.get(finding.requirement_id) ?? 0,
    finding.id === finding.requirement_id ? 0 : 1,
    depth(finding),
  ];
  return findings.toSorted((a, b) => {
    const [left, right] = [rank(a), rank(b)];
    return left.map((value, at) => value - (right[at] ?? 0)).find((difference) => difference !== 0) ?? 0;
  });
}

const mayCause = ({ outcome, deviation }: CheckResult, { allowed_for = [] }: CheckResult): boolean =>
  outcome === 'fail' && (deviation === undefined || allowed_for.includes(deviation.name));

const isDecidedBy = ({ id, requirement }: Grouped, lead: CheckResult): boolean =>
  id === lead.id || (requirement.id === lead.requirement_id && lead.id === lead.requirement_id);

export function leadsFirst(results: readonly CheckResult[]): CheckResult[] {
  const leadOf = new Map(results.map(({ id, consequence_of }) => [id, consequence_of ?? id]));
  const followers = new Map<string, number>();
  for (const { consequence_of, blocked_by } of results) {
    const cause = leadOf.get(consequence_of ?? blocked_by ?? '');
    if (cause !== undefined) followers.set(cause, (followers.get(cause) ?? 0) + 1);
  }
  const count = ({ id }: CheckResult): number => followers.get(id) ?? 0;
  return results
    .filter((result) => isFinding(result) && result.consequence_of === undefined)
    .toSorted((a, b) => severity(a) - severity(b) || count(b) - count(a));
}

const severity = ({ outcome }: CheckResult): number => (outcome === 'fail' ? 0 : 1);

function isSameAnswer(left: CheckResult, right: CheckResult): boolean {
  const answer = ({ expected = '', actual = '' }: CheckResult): string =>
    `${expected}\n${actual}`.replaceAll(LIST, '[#]').replaceAll(/\d+/g, '#');
  return requestOf(left) === requestOf(right) && answer(left) === answer(right);
}

/** Leaves out the query, because cursors differ between checks. */
function requestOf({ exchanges }: CheckResult): string {
  const last = exchanges?.at(-1);
  return last === undefined ? '' : `${last.method} ${last.url.replace(/\?.*$/, '')}`;
}
