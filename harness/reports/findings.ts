import { type Format, printable } from '../common/terminal.ts';
import { sectionTitle } from '../contract/sentences.ts';
import { isFinding, rateInWords } from '../runner/attempts.ts';
import { comparableText, leadsFirst } from '../runner/causes.ts';
import { differenceInWords, differences } from '../runner/declarations.ts';
import { countInWords } from '../runner/results.ts';
import type { CheckResult, Outcome, Report, Summary } from '../runner/types.ts';
import { exchangesOf, shortened } from './exchanges.ts';

export const AT_ONCE = 3;

export interface SectionGroup {
  section: string;
  title: string;
  checks: CheckResult[];
}

export function bySection(checks: readonly CheckResult[]): SectionGroup[] {
  const groups = Map.groupBy(checks, (check) => check.section);
  return [...groups]
    .sort(([a], [b]) => Number(a === '') - Number(b === '') || a.localeCompare(b, 'en', { numeric: true }))
    .map(([section, members]) => ({
      section,
      title: section === '' ? 'Baseline' : sectionTitle(section),
      checks: members,
    }));
}

/** Groups checks of an outcome by reason, largest first; blocked checks of a group may differ in ids or numbers. */
export function byReason(checks: readonly CheckResult[], outcome: Outcome): [reason: string, ids: string[]][] {
  const groups = Map.groupBy(
    checks.filter((check) => check.outcome === outcome),
    ({ reason = '' }) => (outcome === 'blocked' ? comparableText({ actual: reason }).actual : reason),
  );
  return [...groups.values()]
    .map((members): [string, string[]] => [members[0]?.reason ?? 'no reason given', members.map(({ id }) => id)])
    .sort(([, a], [, b]) => b.length - a.length);
}

export const checksIn = (groups: ReturnType<typeof byReason>): number =>
  groups.reduce((sum, [, ids]) => sum + ids.length, 0);

export interface FindingGroup {
  lead: CheckResult;
  consequences: CheckResult[];
  blocked: CheckResult[];
}

export function findingGroups(checks: readonly CheckResult[]): FindingGroup[] {
  const findings = new Map(checks.filter(isFinding).map((result) => [result.id, result]));
  const leadOf = (id: string): string => {
    const seen = new Set([id]);
    for (let at = id; ; ) {
      const next = findings.get(at)?.consequence_of;
      if (next === undefined || !findings.has(next) || seen.has(next)) return at;
      seen.add(next);
      at = next;
    }
  };
  const placed = checks.map(({ consequence_of: _, ...result }): CheckResult => {
    const lead = leadOf(result.id);
    return lead === result.id ? result : { ...result, consequence_of: lead };
  });
  return leadsFirst(placed).map((lead) => ({
    lead,
    consequences: placed.filter((result) => isFinding(result) && result.consequence_of === lead.id),
    blocked: placed.filter(
      ({ outcome, blocked_by: by }) => outcome === 'blocked' && by !== undefined && leadOf(by) === lead.id,
    ),
  }));
}

export const findingsOf = ({ checks }: Report, outcome: 'fail' | 'warn'): FindingGroup[] =>
  findingGroups(checks).filter(({ lead }) => lead.outcome === outcome);

export function blockedOtherwise(checks: readonly CheckResult[]): CheckResult[] {
  const placed = new Set(findingGroups(checks).flatMap(({ blocked }) => blocked.map(({ id }) => id)));
  return checks.filter(({ id, outcome }) => outcome === 'blocked' && !placed.has(id));
}

export const blockedWords = ({ reason = '', blocked_by }: CheckResult): string =>
  blocked_by === undefined ? `blocked: ${reason}` : reason;

interface Look {
  word: string;
  symbol: string;
  colour: Extract<Format, string>;
}

/** Looks by outcome, in descending weight of the outcomes. */
const LOOKS: Readonly<Record<Outcome, Look>> = {
  fail: { word: 'failed', symbol: '✗', colour: 'red' },
  blocked: { word: 'blocked', symbol: '■', colour: 'red' },
  fixed: { word: 'stale in the baseline', symbol: '⚑', colour: 'red' },
  warn: { word: 'warned', symbol: '!', colour: 'yellow' },
  undecided: { word: 'undecided', symbol: '?', colour: 'magenta' },
  flaky: { word: 'flaky', symbol: '≈', colour: 'yellow' },
  known: { word: 'known', symbol: '~', colour: 'cyan' },
  pass: { word: 'passed', symbol: '✓', colour: 'green' },
  not_applicable: { word: 'not applicable', symbol: '–', colour: 'dim' },
};

function looksOf<Part extends keyof Look>(part: Part): Record<Outcome, Look[Part]> {
  const looks = Object.entries(LOOKS).map(([outcome, look]) => [outcome, look[part]] as const);
  return Object.fromEntries(looks) as Record<Outcome, Look[Part]>;
}

export const OUTCOME_WORDS = looksOf('word');
export const SYMBOLS = looksOf('symbol');
export const COLOURS = looksOf('colour');
export const BY_WEIGHT: readonly Outcome[] = Object.keys(LOOKS) as Outcome[];

export const worst = (checks: readonly CheckResult[]): Outcome =>
  BY_WEIGHT.find((outcome) => checks.some((check) => check.outcome === outcome)) ?? 'not_applicable';

export function counts(summary: Summary): string {
  const counted = BY_WEIGHT.filter((outcome) => summary[outcome] > 0);
  return counted.map((outcome) => `${summary[outcome]} ${OUTCOME_WORDS[outcome]}`).join(' · ') || 'nothing';
}

export function tally(report: Report): string {
  const { summary } = report;
  const failed = findingsOf(report, 'fail').length;
  const consequences = summary.fail - failed;
  if (consequences <= 0) return counts(summary);
  const rest = counts({ ...summary, fail: 0 });
  const findings = `${plural(failed, 'finding')}, ${consequences} may follow`;
  return rest === 'nothing' ? findings : `${findings} · ${rest}`;
}

export const differencesIn = ({ declarations }: Report): string[] =>
  differences(declarations).map((one) => printable(differenceInWords(one)));

export const NOT_AS_DECLARED = 'Not as declared: checks rest on what a target says of itself';

export const followsIn = ({ consequence_of: lead }: CheckResult): string | undefined =>
  lead === undefined ? undefined : `may follow from ${lead}`;

export const allowanceIn = ({ deviation }: CheckResult): string | undefined =>
  deviation && `checks allow for it: ${deviation.allowance}`;

export const followersIn = (consequences: readonly CheckResult[]): string =>
  `${plural(consequences.length, 'finding')} may follow from it`;

export function sawInWords({ saw = {} }: Pick<CheckResult, 'saw'>): string | undefined {
  const all = Object.entries(saw).map(([name, count]) => countInWords(name, count));
  return all.length === 0 ? undefined : all.join(', ');
}

export const howOften = ({ rate }: CheckResult): string | undefined => rate && rateInWords(rate);

export const plural = (count: number, noun: string): string =>
  `${count} ${count === 1 ? noun : `${noun.replace(/(?<=[^aeiou])y$/, 'ie')}s`}`;

export const lines = (...parts: readonly (string | readonly string[] | false | undefined)[]): string[] =>
  parts.flatMap((part) => (part === false || part === undefined ? [] : part));

export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export const evidenceOf = (result: CheckResult): [label: string, text: string | undefined][] => [
  ['expected', result.expected],
  ['actual', result.actual],
  ['smallest', counterexample(result)],
  ['how often', howOften(result)],
  ['reason', result.reason],
  ['wrote', result.stderr],
  ['cause', followsIn(result)],
  ['later', allowanceIn(result)],
  ['allows for', result.allowed_for?.join(', ')],
  ['seen by', result.seen_by?.join(', ')],
];

export function findingText(result: CheckResult): string {
  const line = (label: string, text: string | undefined): string | undefined =>
    text === undefined ? undefined : `${label.padEnd(10)} ${printable(text)}`;
  return lines(
    line('requires', `${result.requirement} (${result.level}, section ${result.section})`),
    ...evidenceOf(result).map(([label, text]) => line(label, text)),
    line('try', tryLine(result)),
    (scriptLines(result) ?? []).map((text, index) => `${(index === 0 ? 'script' : '').padEnd(10)} ${text}`),
    exchangesOf(result).flatMap(({ headline, lines: shown }) => [
      `exchange   ${headline}`,
      ...shown.map((text) => `           ${text}`),
    ]),
    line('again', result.replay_command),
  ).join('\n');
}

export function counterexample({ counterexample: value }: CheckResult): string | undefined {
  if (value === undefined) return undefined;
  return shortened(typeof value === 'string' ? value : JSON.stringify(value), 1000);
}

export const scriptLines = ({ script }: CheckResult): string[] | undefined =>
  script === undefined ? undefined : printable(script).trimEnd().split('\n');

/** Command line of at most 4000 characters, because a shell may reject a longer one. */
export const tryLine = ({ curl }: CheckResult): string | undefined =>
  curl === undefined ? undefined : printable(shortened(curl, 4000));
