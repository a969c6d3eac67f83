/** Evaluates what a suite found on one subject, and what the matrix proves as a whole. */
import type { CheckResult, Level, Report } from '../../runner/types.ts';
import type { Subject } from './subjects.ts';

/** What a red check reported. */
export interface Red {
  id: string;
  level: Level;
  requirement: string;
  expected: string;
  actual: string;
}

export interface Verdict {
  subject: Subject;
  /** Number of checks that passed. */
  passed: number;
  red: readonly Red[];
  durationMs: number;
  /** What is wrong with this row, each with what to do about it; empty when the row is ok. */
  problems: readonly Problem[];
}

export interface Problem {
  what: string;
  todo: string;
}

/** On a defect only the checks of the requirements that it breaks are run, or with `whole` all of them. */
export async function evaluateSubject(subject: Subject, whole = false): Promise<Verdict> {
  const started = performance.now();
  const ended = (verdict: Omit<Verdict, 'subject' | 'durationMs'>): Verdict => ({
    subject,
    durationMs: performance.now() - started,
    ...verdict,
  });
  try {
    const report = await subject.run(subject.kind === 'defect' && !whole ? subject.breaks : undefined);
    return ended({
      passed: report.checks.filter(({ outcome }) => outcome === 'pass').length,
      red: report.checks.filter(isRed).map(reported),
      problems: PROBLEMS[subject.kind](subject, report),
    });
  } catch (error) {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const problem = { what: `could not be run: ${reason}`, todo: 'repair the matrix or the simulator' };
    return ended({ passed: 0, red: [], problems: [problem] });
  }
}

const isRed = ({ outcome }: CheckResult): boolean => outcome === 'fail' || outcome === 'warn';
const reported = ({ id, level, requirement_id, expected = '', actual = '' }: CheckResult): Red => ({
  id,
  level,
  requirement: requirement_id,
  expected,
  actual,
});
const why = ({ id, expected, actual }: CheckResult): string => `${id}: expected ${expected}; actual: ${actual}`;

const PROBLEMS: Record<Subject['kind'], (subject: Subject, report: Report) => Problem[]> = {
  reference: (_, report) => [
    ...report.checks.filter(isRed).map((check) => ({
      what: why(check),
      todo: 'read the specification: either the check or the simulator is wrong',
    })),
    ...blocked(report),
  ],
  variant: (_, report) => [
    ...report.checks
      .filter(({ outcome }) => outcome === 'fail')
      .map((check) => ({ what: why(check), todo: 'the specification leaves this open: let the check accept it' })),
    ...blocked(report),
  ],
  null: (_, report) =>
    report.checks
      .filter(({ level, outcome }) => level === 'MUST' && outcome === 'pass')
      .map(({ id }) => ({
        what: `a null server passes ${id}`,
        todo: 'have the check make sure first that the target works',
      })),
  defect: ({ breaks = [], file }, report) =>
    breaks
      .filter((broken) => !report.checks.some((check) => isRed(check) && concerns(check, broken)))
      .map((broken) => {
        const stuck = report.checks.filter((check) => check.outcome === 'blocked' && concerns(check, broken));
        const because = stuck.map(({ id, reason }) => `; blocked: ${id}: ${reason}`).join('');
        return {
          what: `not caught by ${broken}${because}`,
          todo: `sharpen that check, or correct \`breaks\`${file === undefined ? '' : ` in ${file}`}`,
        };
      }),
};

const blocked = (report: Report): Problem[] =>
  report.checks
    .filter(({ outcome }) => outcome === 'blocked')
    .map(({ id, reason }) => ({ what: `blocked: ${id}: ${reason}`, todo: 'nothing was decided: repair the set-up' }));

const concerns = ({ id, requirement_id }: CheckResult, broken: string): boolean =>
  requirement_id === broken || id === broken || id.startsWith(`${broken}.`);

/** Checks that stay green on every defect: nothing proves that they can fail. */
export function neverRed(verdicts: readonly Verdict[], ids: readonly string[]): string[] {
  const red = new Set(
    verdicts.filter(({ subject }) => subject.kind === 'defect').flatMap((verdict) => verdict.red.map(({ id }) => id)),
  );
  return ids.filter((id) => !red.has(id));
}
