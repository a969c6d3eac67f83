import { defined } from '../common/defined.ts';
import { EXIT, interruptedCode } from '../common/usage.ts';
import { lines } from '../reports/findings.ts';
import {
  countsOf,
  findingOf,
  inPercent,
  inState,
  isFinding,
  type MutationReport,
  type MutationState,
  type MutationSubject,
  requirementOf,
  scoreOf,
  sectionsOf,
  summaryOf,
} from '../reports/mutation/report.ts';
import { applyBaseline, type Baseline, type BaselineUpdate, updatedBaseline } from '../runner/baseline.ts';
import type { CheckResult, Outcome } from '../runner/types.ts';
import type { Subject } from './plan.ts';
import type { MutationResults } from './run.ts';

type ReportFacts = Pick<
  MutationReport,
  'muster' | 'side' | 'api' | 'command' | 'repeat' | 'seed' | 'started_at' | 'duration_ms' | 'jobs'
> & {
  readonly minScore: number | undefined;
  readonly kind: Subject['kind'] | undefined;
};

export type TestedSide = Pick<MutationReport, 'side' | 'api'>;

/** Names begin with the tested side, because defects of two sides may share a name. */
const prefixOf = ({ side, api }: TestedSide): string => (side === 'client' ? `mutate-${api}` : `mutate-system-${api}`);

export interface BaselineUse {
  readonly baseline: Baseline;
  /** YYYY-MM-DD. */
  readonly today: string;
  readonly names: readonly string[];
}

const OUTCOMES: Readonly<Record<MutationState, Outcome>> = {
  killed: 'pass',
  timed_out: 'pass',
  accepted: 'pass',
  survived: 'fail',
  brittle: 'fail',
  known: 'known',
  never_asked: 'not_applicable',
  blocked: 'blocked',
  not_run: 'undecided',
};

const resultOf = (sides: TestedSide, subject: MutationSubject): CheckResult => ({
  id: `${prefixOf(sides)}.${subject.name}`,
  level: 'MUST',
  section: subject.section,
  requirement: requirementOf(subject),
  requirement_id: subject.requirements[0]?.id ?? '',
  outcome: OUTCOMES[subject.state],
  duration_ms: subject.duration_ms ?? 0,
  ...(isFinding(subject) && {
    expected: `the tests to ${subject.kind === 'defect' ? 'fail' : 'pass'}`,
    actual: findingOf(subject),
  }),
});

const scopeOf = (sides: TestedSide, names: readonly string[]) => ({
  api: prefixOf(sides),
  ids: names.map((name) => `${prefixOf(sides)}.${name}`),
});

export const updatedMutationBaseline = (
  sides: TestedSide,
  subjects: readonly MutationSubject[],
  { baseline, today, names }: BaselineUse,
): BaselineUpdate =>
  updatedBaseline(
    subjects.map((subject) => resultOf(sides, subject)),
    baseline,
    today,
    scopeOf(sides, names),
  );

function applyMutationBaseline(
  sides: TestedSide,
  subjects: readonly MutationSubject[],
  { baseline, today, names }: BaselineUse,
): Pick<MutationReport, 'subjects' | 'stale'> {
  const results = subjects.map((subject) => resultOf(sides, subject));
  const settled = applyBaseline(results, baseline, today, scopeOf(sides, names));
  const byId = new Map(settled.map((result) => [result.id, result]));
  return {
    subjects: subjects.map((subject) => {
      const { outcome, reason } = byId.get(`${prefixOf(sides)}.${subject.name}`) ?? {};
      const isKnown = outcome === 'known' || (outcome === 'flaky' && isFinding(subject));
      const why = isKnown || isFinding(subject) ? reason : undefined;
      return { ...subject, ...(isKnown && { state: 'known' as const }), ...defined({ reason: why }) };
    }),
    stale: settled
      .filter(({ outcome }) => outcome === 'fixed')
      .map(({ id, reason = '' }) => ({ name: id.replace(/^baseline:/, ''), reason })),
  };
}

export function reportOf(
  found: MutationResults,
  { minScore, kind, ...about }: ReportFacts,
  use: BaselineUse | undefined,
  signal: AbortSignal,
): MutationReport {
  const { subjects, stale } =
    use === undefined ? { subjects: found.subjects, stale: [] } : applyMutationBaseline(about, found.subjects, use);
  const { first, testTimeoutMs, flaky } = found;
  const score = scoreOf(subjects);
  const report = {
    ...about,
    ...defined({ test_timeout_ms: testTimeoutMs && Math.round(testTimeoutMs) }),
    first_run: {
      passed: first.outcome === 'passed',
      how: first.how,
      duration_ms: Math.round(first.durationMs),
      ...(first.outcome !== 'passed' && first.wrote !== '' && { wrote: first.wrote }),
    },
    ...defined({ flaky }),
    summary: summaryOf(subjects),
    ...defined({ score, min_score: minScore }),
    sections: sectionsOf(subjects),
    stale: [...stale],
    ...(signal.aborted && { interrupted: true as const }),
    subjects: [...subjects],
  };
  return { ...report, ...verdictOn(report, kind, signal) };
}

type Verdict = Pick<MutationReport, 'exit_code' | 'meaning'>;
const incomplete = (meaning: string): Verdict => ({ exit_code: EXIT.incomplete, meaning });
const conformant = (meaning: string): Verdict => ({ exit_code: EXIT.conformant, meaning });

/** A missed defect counts more than undecided subjects. */
function verdictOn(
  report: Omit<MutationReport, 'exit_code' | 'meaning'>,
  kind: ReportFacts['kind'],
  signal: AbortSignal,
): Verdict {
  const { subjects, first_run: first, score, min_score: least, flaky, summary } = report;
  if (signal.aborted) return { exit_code: interruptedCode(signal), meaning: `ended early: ${countsOf(report)}` };
  if (!first.passed) return incomplete(`the tests do not pass on the faithful simulator: they ${first.how}`);
  if (flaky !== undefined) return incomplete(`nothing of this holds: ${flaky}`);
  const brittle = inState(subjects, 'brittle').length;
  const low =
    least === undefined
      ? `${summary.survived} of the defects survived`
      : `the score is ${inPercent(score ?? 0)}, less than ${least} %`;
  const wrong = lines(
    score !== undefined && score < (least ?? 100) && low,
    brittle > 0 && `the tests fail on ${brittle} of the servers that are right (brittle)`,
  );
  if (wrong.length > 0) return { exit_code: EXIT.nonconformant, meaning: wrong.join(', and ') };
  const [stale] = report.stale;
  if (stale !== undefined) return incomplete(`stale in the baseline: ${stale.name} ${stale.reason}`);
  if (summary.blocked > 0)
    return incomplete(`${summary.blocked} servers could not be started: nothing is known of them`);
  const known = summary.known > 0 ? ', or is in the baseline' : '';
  if (kind === 'variant')
    return summary.accepted + summary.known > 0
      ? conformant(`every variant that ran was accepted${known}; no defect was looked for`)
      : incomplete('the tests asked nothing in which a variant differs');
  if (score === undefined && summary.known === 0)
    return subjects.some((subject) => subject.kind === 'defect')
      ? incomplete('the tests asked nothing that a defect could show in')
      : incomplete('no defect was looked for, so that there is no score');
  const never = inState(subjects, 'never_asked').filter(({ kind }) => kind === 'defect').length;
  const unseen = never === 0 ? '' : `; ${never} ${never === 1 ? 'was' : 'were'} never asked for`;
  const all = `every defect that ran was killed${known}`;
  const words = least === undefined || score === undefined ? all : `the score is ${inPercent(score)}`;
  return conformant(`${words}${unseen}`);
}
