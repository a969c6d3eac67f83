import { LimitReached, limitIn, Unfinished, Unreachable } from '../client/errors.ts';
import type { Recorder, Snapshot } from '../client/recorder.ts';
import { defined } from '../common/defined.ts';
import { telling } from '../common/excerpt.ts';
import { findingOf } from './property.ts';
import { choicesInWords, countInWords, distinctChoices } from './results.ts';
import { scriptOf } from './script.ts';
import type { Check, CheckResult, Observed, Outcome, TargetHooks } from './types.ts';
import { Blocked, NotApplicable, RunOver, TooLittleSeen, type Violation } from './violation.ts';

export class CheckRecord {
  readonly observations: string[] = [];
  readonly observed: Observed[] = [];
  readonly allowedFor = new Set<string>();
  readonly counts = new Map<string, number>();
  readonly seen = new WeakMap<object, Snapshot>();
  seenBy: string[] | undefined;
  warning: Violation | undefined;
  standardError: TargetHooks['standardError'] | undefined;
}

interface EndedRun {
  check: Pick<Check<never>, 'least' | 'orElse' | 'requirement'>;
  recorder: Recorder;
  signal: AbortSignal;
  replay?: Pick<CheckResult, 'path'>;
}

type Ended = Partial<CheckResult> & { outcome: Outcome };

const sawOf = ({ recorder }: Pick<EndedRun, 'recorder'>, { counts }: CheckRecord): Record<string, number> => ({
  ...recorder.counts,
  ...Object.fromEntries(counts),
});

/** A replay of a counterexample passes even with fewer observations than `least`, because it runs a single input. */
export function endedNormally(run: EndedRun, record: CheckRecord): Ended {
  if (record.warning !== undefined) return warnedResult(record.warning, run, record);
  const { least = {}, orElse } = run.check;
  const saw = sawOf(run, record);
  const few = Object.entries(least).filter(([name, count]) => (saw[name] ?? 0) < count);
  if (few.length === 0 || run.replay?.path !== undefined) return { outcome: 'pass' };
  const words = few.map(([name, count]) => `${saw[name] ?? 0} of at least ${countInWords(name, count)}`).join(', ');
  return { outcome: 'undecided', reason: `${words}${orElse === undefined ? '' : `; ${orElse}`}` };
}

export function recorded(ended: Ended, run: EndedRun, record: CheckRecord): Partial<CheckResult> {
  const { observations, observed, allowedFor, seenBy } = record;
  const [choices, words] = [distinctChoices(observed), [...observations, ...choicesInWords(observed)]];
  return {
    ...(words.length === 0 ? {} : { observations: [...new Set(words)] }),
    ...(choices.length === 0 ? {} : { observed: choices }),
    ...(allowedFor.size === 0 ? {} : { allowed_for: [...allowedFor] }),
    ...defined({ seen_by: seenBy }),
    ...standardErrorOf(ended, run, record),
    ...(ended.outcome === 'pass' || ended.outcome === 'undecided' ? { saw: sawOf(run, record) } : {}),
  };
}

function standardErrorOf(ended: Ended, { recorder }: EndedRun, record: CheckRecord): Pick<CheckResult, 'stderr'> {
  const { outcome, actual = '', reason = '' } = ended;
  const { standardError } = record;
  if (outcome === 'pass' || outcome === 'not_applicable' || standardError === undefined) return {};
  const lines = recorder.redactor.text(standardError()).trim().split('\n').slice(-20);
  const isTold = [actual, reason].some((text) => text.includes(lines.join('\n')));
  return isTold ? {} : { stderr: lines.join('\n') };
}

export const runOverReason = ({ reason }: AbortSignal): Pick<CheckResult, 'reason' | 'fault'> =>
  reason instanceof RunOver
    ? { reason: reason.message, ...(reason.fault ? { fault: true } : {}) }
    : { reason: 'interrupted' };

export function endedBy(error: unknown, run: EndedRun, record: CheckRecord): Ended {
  const { check, recorder, signal } = run;
  const isOpen = error instanceof TooLittleSeen || error instanceof NotApplicable;
  if (isOpen && record.warning !== undefined) return warnedResult(record.warning, run, record);
  if (error instanceof NotApplicable) return { outcome: 'not_applicable', reason: error.message };
  if (error instanceof TooLittleSeen) return { outcome: 'undecided', reason: error.message };
  // Ignores the error, because requests of an aborted check fail on any target.
  if (signal.aborted) return { outcome: 'blocked', ...evidenceOf(recorder, {}), ...runOverReason(signal) };
  const finding = findingOf(error);
  if (finding === undefined) {
    const why = whyBlocked(error);
    return { outcome: 'blocked', ...evidenceOf(recorder, defined({ actual: why.reason })), ...why };
  }
  const { level = check.requirement.level } = finding;
  if (level === 'INFO') {
    record.observations.push(`${finding.actual} (usual: ${finding.expected})`);
    return { outcome: 'pass' };
  }
  const seen = record.seen.get(error as Error);
  return { outcome: level === 'MUST' ? 'fail' : 'warn', ...evidenceOf(recorder, finding, seen), ...finding };
}

function warnedResult(warning: Violation, { recorder }: EndedRun, { seen }: CheckRecord): Ended {
  const { finding } = warning;
  return { outcome: 'warn', level: 'SHOULD', ...evidenceOf(recorder, finding, seen.get(warning)), ...finding };
}

const NOT_DECIDED = [Blocked, Unreachable, LimitReached, Unfinished];

function whyBlocked(error: unknown): Pick<CheckResult, 'reason' | 'fault'> {
  if (NOT_DECIDED.some((kind) => error instanceof kind)) return { reason: (error as Error).message };
  const limit = limitIn(error);
  if (limit !== undefined) return { reason: limit };
  const place =
    error instanceof Error ? (error.stack?.split('\n').slice(0, 3).join(' ') ?? error.message) : String(error);
  return { reason: `a fault in Muster: ${place.replaceAll(/\s+/g, ' ')}`, fault: true };
}

/**
 * Exchanges with a curl line for the last one, or with a shell script after calls of control, which a curl line cannot
 * repeat.
 */
function evidenceOf(recorder: Recorder, about: Partial<CheckResult>, seen?: Snapshot): Partial<CheckResult> {
  if (seen !== undefined && seen.exchanges.length > 0) recorder.restore(seen);
  const exchanges = recorder.evidence(telling(about), 8);
  const last = exchanges.at(-1);
  const marks = recorder.timeline;
  const timeline = marks.length === 0 ? {} : { timeline: marks };
  if (last === undefined) return timeline;
  const script = scriptOf(recorder.steps);
  const repeating = recorder.driven ? (script === undefined ? {} : { script }) : { curl: last.curl };
  return { exchanges, ...timeline, ...repeating };
}
