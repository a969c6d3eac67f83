/** What a run shows about its target, in words that claim no more than was decided. */
import { ran } from '../runner/results.ts';
import type { CheckResult, Coverage, Outcome, Report } from '../runner/types.ts';
import { differencesIn, findingsOf, lines, plural } from './findings.ts';

/** How a report is headed: its verdict, or what came of findings that were run again. */
export interface Headline {
  word: string;
  good: boolean;
  /** One sentence that says no more than was found. */
  meaning: string;
}

/** What a run shows about its target. */
export interface Verdict extends Headline {
  word: 'CONFORMANT' | 'NOT CONFORMANT' | 'INCOMPLETE' | 'INTERRUPTED' | 'NO FAILURE FOUND';
}

/** The verdict of a report. It claims nothing about what did not run. */
export function verdict(report: Report): Verdict {
  if (report.summary.fail > 0) {
    const also = report.interrupted === true ? '; the run was interrupted' : '';
    return { word: 'NOT CONFORMANT', good: false, meaning: `${failed(report)}${also}` };
  }
  if (report.interrupted === true) {
    return { word: 'INTERRUPTED', good: false, meaning: 'the run ended before everything was decided' };
  }
  const trouble = troubleOf(report);
  if (trouble.length > 0 || report.exit_code !== 0) {
    return { word: 'INCOMPLETE', good: false, meaning: trouble.join('; ') || 'the run did not end' };
  }
  const { summary } = report;
  const musts = `every MUST${report.profile === 'full' ? '' : ` of profile ${report.profile}`}`;
  const excused = lines(
    summary.known > 0 && `${summary.known} that the baseline excuses`,
    summary.flaky > 0 && `${summary.flaky} flaky, which may pass or fail by the baseline`,
  );
  const known = excused.length === 0 ? '' : `, but for ${excused.join(' and ')}`;
  if (!report.complete || excused.length > 0) {
    const why = report.narrowed_by.length > 0 ? ` among what ran (left out: ${report.narrowed_by.join(', ')})` : '';
    return { word: 'NO FAILURE FOUND', good: true, meaning: `${musts} holds${why}${known}` };
  }
  const undecided = report.checks.filter(
    (check) => check.level === 'MUST' && check.outcome === 'not_applicable',
  ).length;
  const apart = undecided === 0 ? '' : `; ${undecided} checks of a MUST do not apply, as listed`;
  const warned = summary.warn === 0 ? '' : `; ${summary.warn} SHOULD ${summary.warn === 1 ? 'does' : 'do'} not`;
  return { word: 'CONFORMANT', good: true, meaning: `${musts} that applies to this target holds${apart}${warned}` };
}

function failed(report: Report): string {
  const { summary } = report;
  const leads = findingsOf(report, 'fail').map(({ lead }) => lead);
  const musts = summary.fail === 1 ? 'a MUST does not hold' : `${summary.fail} MUSTs do not hold`;
  const causes = leads.length === summary.fail ? musts : `${musts}, for ${plural(leads.length, 'cause')}`;
  const seldom = leads.filter(({ rate }) => rate !== undefined && rate.failed < rate.times).length;
  if (seldom === 0) return causes;
  return `${causes}; ${leads.length === 1 ? 'not' : `${seldom} not`} every time`;
}

/** What keeps a run without failures from a verdict, and what to do about it. */
function troubleOf(report: Report): string[] {
  const { summary, checks, unmet = [], unreachable } = report;
  if (unreachable !== undefined) return ['the target could not be reached, so nothing was decided'];
  const faults = checks.filter(({ fault }) => fault === true).length;
  const blocked = summary.blocked - faults;
  return lines(
    faults > 0 && `Muster itself failed in ${plural(faults, 'check')}`,
    blocked > 0 && `${plural(blocked, 'check')} blocked, so nothing is known about them: see why, and run again`,
    summary.fixed > 0 && `${summary.fixed} stale in the baseline: remove them (--update-baseline)`,
    ran(summary) === 0 && summary.blocked === 0 && 'no check ran',
    unmet,
    differencesIn(report),
  );
}

/** The first words of a report for people. */
export function headlineOf(report: Report): Headline {
  return report.replay_of === undefined || report.interrupted === true || report.unreachable !== undefined
    ? verdict(report)
    : replayed(report, report.replay_of.outcomes);
}

const AGAIN: ReadonlySet<Outcome> = new Set(['fail', 'warn', 'known']);
const GONE: ReadonlySet<Outcome> = new Set(['pass', 'fixed']);

/** What a check came to, whatever a baseline makes of it. */
const madeOf = ({ outcome, expected }: CheckResult): Outcome =>
  outcome !== 'flaky' ? outcome : expected === undefined ? 'pass' : 'fail';

function replayed({ checks }: Report, before: Readonly<Record<string, Outcome>>): Headline {
  const now = new Map(checks.map((check) => [check.id, madeOf(check)]));
  const ids = Object.keys(before);
  const idsOf = (outcomes: ReadonlySet<Outcome>): string[] =>
    ids.filter((id) => outcomes.has(now.get(id) ?? 'blocked'));
  const [again, gone] = [idsOf(AGAIN), idsOf(GONE)];
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

/**
 * `28 of 88 checks decided: nothing was driven (muster explain drive); 41 need drive (add --control ADDRESS), 4 left
 * out by --fast`.
 */
export function decided(coverage: Coverage): string {
  const { checks, decided: count, undecided } = coverage;
  const reasons = undecided.map(
    ({ checks: number, why, add }) => `${number} ${why}${add === undefined ? '' : ` (add ${add})`}`,
  );
  const how = `${count} of ${checks} checks decided`;
  if (reasons.length === 0) return how;
  return `${how}: ${isUndriven(coverage) ? 'nothing was driven (muster explain drive); ' : ''}${reasons.join(', ')}`;
}

/** Whether most could not be tried, because the target could not be driven. */
export const isUndriven = ({ undecided }: Coverage): boolean =>
  undecided.some(({ needs }) => needs?.includes('drive') === true);

/** The colour of a headline: a good one is not green where little was tried. */
export const toneOf = ({ coverage }: Report, { good }: Headline): 'pass' | 'warn' | 'fail' =>
  good ? (isUndriven(coverage) ? 'warn' : 'pass') : 'fail';

/**
 * The same for the first lines of a report; undefined where it would only distract from why nothing was decided, or
 * from a replay.
 */
export const coverageLine = (report: Report): string | undefined =>
  showsCoverage(report) ? decided(report.coverage) : undefined;

/** Whether the first lines of a report say how much was decided. */
export const showsCoverage = ({ replay_of, unreachable, summary }: Report): boolean =>
  replay_of === undefined && (unreachable === undefined || summary.fail > 0);
