/** Verdict of a run, which claims no more than the run decided. */
import { EXIT } from '../common/usage.ts';
import { PROFILES } from '../contract/profiles.ts';
import { decidedNumber, failingWarnings } from '../runner/results.ts';
import type { CheckResult, Coverage, Outcome, Report } from '../runner/types.ts';
import { differencesIn, findingsOf, lines, plural } from './findings.ts';

interface Headline {
  word: string;
  good: boolean;
  meaning: string;
}

export interface Verdict extends Headline {
  kind: 'CONFORMANT' | 'NOT CONFORMANT' | 'INCOMPLETE' | 'INTERRUPTED' | 'NO FAILURE FOUND';
}

/** Claims conformance only to the named profile, and nothing about undecided checks. */
export function verdict(report: Report): Verdict {
  const { summary, interrupted, narrowed_by: narrowed, profile, profile_coverage: decidedOf } = report;
  const bad = (kind: Verdict['kind'], meaning: string): Verdict => ({ kind, word: kind, good: false, meaning });
  const good = (kind: Verdict['kind'], meaning: string): Verdict => ({ kind, word: kind, good: true, meaning });
  const failures = failuresIn(report);
  if (failures.length > 0)
    return bad('NOT CONFORMANT', lines(failures, interrupted === true && 'the run was interrupted').join('; '));
  if (interrupted === true) return bad('INTERRUPTED', 'the run ended before everything was decided');
  const trouble = troubleOf(report);
  if (trouble.length > 0 || report.exit_code !== 0)
    return bad('INCOMPLETE', trouble.join('; ') || 'the run did not end');
  const excused = lines(
    summary.known > 0 && `${summary.known} that the baseline excuses`,
    summary.flaky > 0 && `${summary.flaky} flaky, which may pass or fail by the baseline`,
  );
  if (!report.complete || excused.length > 0) {
    const why = narrowed.length > 0 ? ` among what ran (left out: ${narrowed.join(', ')})` : '';
    const known = excused.length === 0 ? '' : `, but for ${excused.join(' and ')}`;
    return good('NO FAILURE FOUND', `every MUST holds${why}${known}`);
  }
  const warned = summary.warn === 0 ? '' : `; ${summary.warn} SHOULD ${summary.warn === 1 ? 'does' : 'do'} not`;
  const decisive = plural(decidedOf.checks, 'check');
  const meaning = `the profile ${profile} is decided by ${decisive}, and every MUST holds${warned}`;
  return { ...good('CONFORMANT', meaning), word: `CONFORMANT: ${conformantTo(report)}` };
}

export const conformantTo = (run: Pick<Report, 'profile' | 'requirements_version'>): string =>
  `${run.profile}, ${run.requirements_version}`;

function failuresIn(report: Report): string[] {
  const { summary } = report;
  const leads = findingsOf(report, 'fail').map(({ lead }) => lead);
  const musts = summary.fail === 1 ? 'a MUST does not hold' : `${summary.fail} MUSTs do not hold`;
  const follow = summary.fail - leads.length;
  const all = follow === 0 ? musts : `${musts}, of which ${follow} may follow from others`;
  const seldom = leads.filter(({ rate }) => rate !== undefined && rate.failed < rate.times).length;
  const often = seldom === 0 ? '' : `; ${leads.length === 1 ? 'not' : `${seldom} not`} every time`;
  const shoulds = Map.groupBy(failingWarnings(report.checks), ({ fails_by: by }) => by ?? '');
  return lines(
    summary.fail > 0 && `${all}${often}`,
    [...shoulds].map(
      ([by, { length }]) => `${length === 1 ? 'a SHOULD does' : `${length} SHOULDs do`} not hold, which fails by ${by}`,
    ),
  );
}

function troubleOf(report: Report): string[] {
  const { summary, checks, unmet = [], unreachable, narrowed_by: narrowed, profile, api } = report;
  if (unreachable !== undefined) return ['the target could not be reached, so nothing was decided'];
  const faults = checks.filter(({ fault }) => fault === true).length;
  const blocked = summary.blocked - faults;
  const { undecided } = report.profile_coverage;
  const open = undecided.filter(({ why }) => why !== 'blocked');
  const profiles: string[] = PROFILES[api].map(({ name }) => name);
  const smaller = profiles.slice(0, Math.max(0, profiles.indexOf(profile)));
  const less = smaller.length === 0 ? '' : `; for less, add --profile ${smaller.join(' or ')}`;
  return lines(
    faults > 0 && `Muster itself failed in ${plural(faults, 'check')}`,
    blocked > 0 && `${plural(blocked, 'check')} blocked, so nothing is known about them: see why, and run again`,
    summary.fixed > 0 && `${summary.fixed} stale in the baseline: remove them (--update-baseline)`,
    decidedNumber(summary) === 0 && summary.blocked === 0 && 'no check decided anything',
    narrowed.length === 0 &&
      open.length > 0 &&
      `the profile ${profile} is not decided: ${reasonsOf(open).join(', ')}${less}`,
    unmet,
    differencesIn(report),
  );
}

/** True if the run decided too little or did not end, which a list of its checks may not show. */
export const isOpen = ({ exit_code: code }: Report): boolean => code > EXIT.nonconformant;

export function headlineOf(report: Report): Headline {
  return report.replay_of === undefined || report.interrupted === true || report.unreachable !== undefined
    ? verdict(report)
    : replayed(report, report.replay_of.outcomes);
}

const madeOf = ({ outcome, expected }: CheckResult): Outcome =>
  outcome !== 'flaky' ? outcome : expected === undefined ? 'pass' : 'fail';

function replayed({ checks }: Report, before: Readonly<Record<string, Outcome>>): Headline {
  const now = new Map(checks.map((check) => [check.id, madeOf(check)]));
  const ids = Object.keys(before);
  const idsOf = (...outcomes: Outcome[]): string[] => ids.filter((id) => outcomes.includes(now.get(id) ?? 'blocked'));
  const [again, gone] = [idsOf('fail', 'warn', 'known'), idsOf('pass', 'fixed')];
  const open = ids.filter((id) => !again.includes(id) && !gone.includes(id));
  const word =
    again.length === ids.length
      ? 'HAPPENED AGAIN'
      : again.length > 0
        ? 'HAPPENED AGAIN IN PART'
        : gone.length === ids.length
          ? 'DID NOT HAPPEN AGAIN'
          : 'INCOMPLETE';
  const meaning = lines(
    `${again.length} of ${plural(ids.length, 'finding')} happened again`,
    gone.length > 0 && `not again: ${gone.join(', ')}`,
    open.length > 0 && `not decided: ${open.join(', ')}`,
  );
  return { word, good: gone.length === ids.length, meaning: meaning.join('; ') };
}

/** Coverage in words, e.g. `28 of 88 checks decided: 41 need drive (add --control ADDRESS), 4 left out by --fast`. */
export function decided(coverage: Coverage): string {
  const { checks, decided: count, undecided } = coverage;
  const reasons = reasonsOf(undecided);
  const how = `${count} of ${checks} checks decided`;
  if (reasons.length === 0) return how;
  return `${how}: ${isUndriven(coverage) ? 'nothing was driven (muster explain drive); ' : ''}${reasons.join(', ')}`;
}

const reasonsOf = (undecided: Coverage['undecided']): string[] =>
  undecided.map(({ checks: number, why, add }) => `${number} ${why}${add === undefined ? '' : ` (add ${add})`}`);

export const isUndriven = ({ undecided }: Coverage): boolean =>
  undecided.some(({ needs }) => needs?.includes('drive') === true);

export const toneOf = ({ coverage }: Report, { good }: Headline): 'pass' | 'warn' | 'fail' =>
  good ? (isUndriven(coverage) ? 'warn' : 'pass') : 'fail';

/** Coverage in words; undefined for a replay, or for an unreachable target without failures. */
export const coverageLine = (report: Report): string | undefined =>
  showsCoverage(report) ? decided(report.coverage) : undefined;

export const showsCoverage = ({ replay_of, unreachable, summary }: Report): boolean =>
  replay_of === undefined && (unreachable === undefined || summary.fail > 0);
