/** Judges one subject, and the matrix as a whole. */
import type { CheckResult, Report } from '../../runner/types.ts';
import type { Problem, Red, Subject, Verdict } from './types.ts';

/** A defect is judged by the checks of the requirements it breaks, or with `whole` by all of them. */
export async function judge(subject: Subject, whole = false): Promise<Verdict> {
  const started = performance.now();
  const ended = (verdict: Omit<Verdict, 'subject' | 'durationMs'>): Verdict => ({
    subject,
    durationMs: performance.now() - started,
    ...verdict,
  });
  try {
    const report = await subject.judge(subject.kind === 'defect' && !whole ? subject.breaks : undefined);
    return ended({
      passed: report.checks.filter(({ outcome }) => outcome === 'pass').length,
      red: report.checks.filter(isRed).map(inItsWords),
      problems: PROBLEMS[subject.kind](subject, report),
    });
  } catch (error) {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const problem = { what: `could not be judged: ${reason}`, todo: 'mend the matrix, or the simulator' };
    return ended({ passed: 0, red: [], problems: [problem] });
  }
}

const isRed = ({ outcome }: CheckResult): boolean => outcome === 'fail' || outcome === 'warn';
const inItsWords = ({ id, level, requirement_id, expected = '', actual = '' }: CheckResult): Red => ({
  id,
  level,
  requirement: requirement_id,
  expected,
  actual,
});
const why = ({ id, expected, actual }: CheckResult): string => `${id}: expected ${expected}; actual: ${actual}`;

const PROBLEMS: Record<Subject['kind'], (subject: Subject, report: Report) => Problem[]> = {
  right: (_, report) => [
    ...report.checks.filter(isRed).map((check) => ({
      what: why(check),
      todo: 'read the specification: the check blames wrongly, or the simulator is wrong',
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
        what: `a server that does nothing passes ${id}`,
        todo: 'have the check see first that the target works',
      })),
  defect: ({ breaks = [], file }, report) =>
    breaks
      .filter((broken) => !report.checks.some((check) => isRed(check) && concerns(check, broken)))
      .map((broken) => {
        const stuck = report.checks.filter((check) => check.outcome === 'blocked' && concerns(check, broken));
        const hindered = stuck.map(({ id, reason }) => `; blocked: ${id}: ${reason}`).join('');
        return {
          what: `not caught by ${broken}${hindered}`,
          todo: `sharpen that check, or correct \`breaks\`${file === undefined ? '' : ` in ${file}`}`,
        };
      }),
};

const blocked = (report: Report): Problem[] =>
  report.checks
    .filter(({ outcome }) => outcome === 'blocked')
    .map(({ id, reason }) => ({ what: `blocked: ${id}: ${reason}`, todo: 'nothing was decided: mend the set-up' }));

const concerns = ({ id, requirement_id }: CheckResult, broken: string): boolean =>
  requirement_id === broken || id === broken || id.startsWith(`${broken}.`);

/** Checks that stay green on every defect: they can't be shown to fail. */
export function neverRed(verdicts: readonly Verdict[], ids: readonly string[]): string[] {
  const red = new Set(
    verdicts.filter(({ subject }) => subject.kind === 'defect').flatMap((verdict) => verdict.red.map(({ id }) => id)),
  );
  return ids.filter((id) => !red.has(id));
}
