/** Orders and words that the reports for people share. */
import { sectionTitle } from '../contract/sections.ts';
import type { CheckResult, Outcome, Report, Summary } from '../runner/types.ts';

/** Up to this many failures are all open; of more, the first is, and the others take a line each. */
export const AT_ONCE = 3;

/** The checks of one section of the specification. */
export interface SectionGroup {
  section: string;
  title: string;
  checks: CheckResult[];
}

/** Checks by section, in the order of the specification. Stale baseline entries have no section and come last. */
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

/** Ids of the results of one outcome by their reason, the most frequent reason first. */
export function byReason(checks: readonly CheckResult[], outcome: Outcome): [reason: string, ids: string[]][] {
  const groups = Map.groupBy(
    checks.filter((check) => check.outcome === outcome),
    (check) => check.reason ?? 'no reason given',
  );
  return [...groups]
    .map(([reason, members]): [string, string[]] => [reason, members.map((check) => check.id)])
    .sort(([, a], [, b]) => b.length - a.length);
}

/** Outcomes as reports name them. */
export const OUTCOME_WORDS: Record<Outcome, string> = {
  pass: 'passed',
  fail: 'failed',
  warn: 'warned',
  not_applicable: 'not applicable',
  blocked: 'blocked',
  known: 'known',
  fixed: 'stale in the baseline',
};

/** One character for each outcome. */
export const SYMBOLS: Record<Outcome, string> = {
  pass: '✓',
  fail: '✗',
  warn: '!',
  not_applicable: '–',
  blocked: '■',
  known: '~',
  fixed: '⚑',
};

/** Outcomes, worst first. */
export const BY_WEIGHT = ['fail', 'blocked', 'fixed', 'warn', 'known', 'pass', 'not_applicable'] as const;

/** The worst outcome among checks. */
export function worst(checks: readonly CheckResult[]): Outcome {
  return BY_WEIGHT.find((outcome) => checks.some((check) => check.outcome === outcome)) ?? 'not_applicable';
}

/** `3 passed · 1 failed`, worst first, without zeros. */
export function counts(summary: Partial<Summary>, separator = ' · '): string {
  return (
    BY_WEIGHT.filter((outcome) => (summary[outcome] ?? 0) > 0)
      .map((outcome) => `${summary[outcome]} ${OUTCOME_WORDS[outcome]}`)
      .join(separator) || 'nothing'
  );
}

/** What a run shows about its target. */
export interface Verdict {
  word: 'CONFORMANT' | 'NOT CONFORMANT' | 'INCOMPLETE' | 'NO FAILURE FOUND';
  good: boolean;
  /** One sentence that says no more than was found. */
  meaning: string;
}

/** The verdict of a report. It claims nothing about what did not run. */
export function verdict(report: Report): Verdict {
  const { summary } = report;
  const musts = report.checks.filter((check) => check.outcome === 'fail').length;
  if (summary.fail > 0) {
    return {
      word: 'NOT CONFORMANT',
      good: false,
      meaning: `${musts === 1 ? 'a MUST does' : `${musts} MUSTs do`} not hold`,
    };
  }
  const ran = summary.pass + summary.warn + summary.known + summary.fixed;
  const trouble = [
    ...(summary.blocked > 0 ? [`${summary.blocked} blocked, so nothing is known about them`] : []),
    ...(summary.fixed > 0 ? [`${summary.fixed} stale in the baseline: remove them (--update-baseline)`] : []),
    ...(ran === 0 && summary.blocked === 0 ? ['no check ran'] : []),
  ];
  if (trouble.length > 0 || report.exit_code !== 0) {
    return { word: 'INCOMPLETE', good: false, meaning: trouble.join('; ') || 'the run did not end' };
  }
  const known = summary.known > 0 ? `, but for ${summary.known} that the baseline excuses` : '';
  if (!report.complete || summary.known > 0) {
    const why = report.narrowed_by.length > 0 ? ` among what ran (left out: ${report.narrowed_by.join(', ')})` : '';
    return {
      word: 'NO FAILURE FOUND',
      good: true,
      meaning: `every MUST${report.profile === 'full' ? '' : ` of profile ${report.profile}`} holds${why}${known}`,
    };
  }
  const undecided = report.checks.filter(
    (check) => check.level === 'MUST' && check.outcome === 'not_applicable',
  ).length;
  const apart = undecided === 0 ? '' : `; ${undecided} checks of a MUST do not apply, as listed`;
  return {
    word: 'CONFORMANT',
    good: true,
    meaning: `every MUST${report.profile === 'full' ? '' : ` of profile ${report.profile}`} that applies to this target holds${apart}${summary.warn > 0 ? `; ${summary.warn} SHOULD ${summary.warn === 1 ? 'does' : 'do'} not` : ''}`,
  };
}
