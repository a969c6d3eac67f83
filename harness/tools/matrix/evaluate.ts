import { defined } from '../../common/defined.ts';
import { isFinding, rateInWords } from '../../runner/attempts.ts';
import { leadsFirst } from '../../runner/causes.ts';
import { differenceInWords, differences } from '../../runner/declarations.ts';
import type { CheckResult, Report } from '../../runner/types.ts';
import type { Subject } from './subjects.ts';

export interface Verdict {
  subject: Subject;
  passed: number;
  red: readonly string[];
  /** Leading finding of the whole suite; absent if `--fast` left out the checks for the defect. */
  headline?: {
    id: string | undefined;
    right: boolean;
  };
  /** Names of planted defects without a finding, in a run with two defects. */
  hidden?: readonly string[];
  /** Id of the check that blocked the checks for a planted defect, or `reaching the target`. */
  essential?: string;
  blockedByOthers?: number;
  durationMs: number;
  problems: readonly Problem[];
}

export interface Problem {
  what: string;
  todo: string;
}

export interface RunConditions {
  /** Runs the whole suite on a defect, not only the checks of the requirements that the defect breaks. */
  whole?: boolean;
  pairs?: boolean;
  fast?: boolean;
  /** Milliseconds above which a run counts as too slow, meant for an idle machine. Default: no limit. */
  mostMs?: number;
}

export async function evaluateSubject(
  subject: Subject,
  { pairs = false, whole: asked = false, fast = false, mostMs = Number.POSITIVE_INFINITY }: RunConditions = {},
): Promise<Verdict> {
  const whole = asked || pairs;
  const started = performance.now();
  const ended = (verdict: Omit<Verdict, 'subject' | 'durationMs'>): Verdict => ({
    subject,
    durationMs: performance.now() - started,
    ...verdict,
  });
  try {
    const { breaks, rate, beside = [] } = subject;
    const judged = subject.kind === 'defect' && whole;
    const narrowed = subject.kind === 'defect' && !whole;
    const report = await subject.run({
      fast,
      // Only correct targets must answer unusual forms of requests like the usual ones.
      varied: subject.kind === 'reference' || subject.kind === 'variant',
      ...(narrowed && breaks !== undefined ? { only: [...breaks, ...beside] } : {}),
      ...(narrowed && rate !== undefined ? { tries: true } : {}),
    });
    const tookMs = performance.now() - started;
    const late = {
      what: `took ${(tookMs / 1000).toFixed(1)} s, more than ${(mostMs / 1000).toFixed(1)} s`,
      todo: 'learn once what must fail: name a premise, or wait for less after a time-out',
    };
    return ended({
      ...(judged ? headlineOf(subject, report) : {}),
      ...(judged ? { blockedByOthers: report.checks.filter(({ blocked_by }) => blocked_by !== undefined).length } : {}),
      ...(pairs ? hidingIn(subject, report) : {}),
      passed: report.checks.filter(({ outcome }) => outcome === 'pass').length,
      red: report.checks.filter(isFinding).map(({ id }) => id),
      problems: [
        ...(pairs ? [] : PROBLEMS[subject.kind](subject, report)),
        ...(narrowed ? rateProblems(subject, report) : []),
        ...(tookMs > mostMs ? [late] : []),
      ],
    });
  } catch (error) {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const problem = { what: `could not be run: ${reason}`, todo: 'repair the matrix or the simulator' };
    return ended({ passed: 0, red: [], problems: [problem] });
  }
}

function hidingIn({ members = [] }: Subject, { checks, unreachable }: Report): Pick<Verdict, 'hidden' | 'essential'> {
  const unseen = members.filter(
    ({ breaks = [] }) =>
      !breaks.some((broken) =>
        checks.some((check) => concerns(check, broken) && (isFinding(check) || wasLeftOut(check))),
      ),
  );
  const blocker = ({ breaks = [] }: Subject): string | undefined =>
    unreachable === undefined
      ? checks.find((check) => check.blocked_by !== undefined && breaks.some((broken) => concerns(check, broken)))
          ?.blocked_by
      : 'reaching the target';
  return {
    hidden: unseen.filter((member) => blocker(member) === undefined).map(({ name }) => name),
    ...defined({ essential: unseen.map(blocker).find((id) => id !== undefined) }),
  };
}

function headlineOf({ breaks = [] }: Subject, { checks }: Report): Pick<Verdict, 'headline'> {
  if (breaks.every((broken) => isLeftOut(checks, broken))) return {};
  const [first] = leadsFirst(checks);
  const right = first !== undefined && breaks.some((broken) => concerns(first, broken));
  return { headline: { id: first?.id, right } };
}

const isLeftOut = (checks: readonly CheckResult[], broken: string): boolean => {
  const due = checks.filter((check) => concerns(check, broken));
  return due.length > 0 && due.every(wasLeftOut);
};

const wasLeftOut = ({ reason }: CheckResult): boolean => reason?.startsWith('not run: ') === true;

function isCaught({ breaks = [] }: Subject, checks: readonly CheckResult[], broken: string): boolean {
  const breaksIt = (id: string): boolean =>
    checks.some((check) => check.id === id && breaks.some((each) => concerns(check, each)));
  return checks.some(
    (check) =>
      concerns(check, broken) && (isFinding(check) || (check.blocked_by !== undefined && breaksIt(check.blocked_by))),
  );
}

const why = ({ id, expected, actual }: CheckResult): string => `${id}: expected ${expected}; actual: ${actual}`;

const problems = (
  checks: readonly CheckResult[],
  todo: string,
  what: (check: CheckResult) => string = why,
): Problem[] => checks.map((check) => ({ what: what(check), todo }));

const PROBLEMS: Record<Subject['kind'], (subject: Subject, report: Report) => Problem[]> = {
  reference: ({ notApplicable }, report) => [
    ...problems(
      report.checks.filter(
        ({ id, outcome }) => /not_applicable|undecided/.test(outcome) && notApplicable?.test(id) === false,
      ),
      'the reference has all of it',
      ({ id, outcome, reason }) => `${outcome.replace('_', ' ')}: ${id}: ${reason}`,
    ),
    ...problems(report.checks.filter(isFinding), 'read the specification: either the check or the simulator is wrong'),
    ...blockedProblems(report),
    ...notAsDeclared(report),
  ],
  variant: ({ slow = false }, report) => [
    ...problems(
      report.checks.filter(({ outcome }) => outcome === 'fail'),
      'the specification leaves this open: let the check accept it',
    ),
    ...blockedProblems(report, slow),
    ...notAsDeclared(report),
  ],
  null: ({ proves = /./, alone = false }, report) =>
    problems(
      report.checks
        .filter(({ id, outcome }) => outcome === 'pass' && proves.test(id))
        .filter(({ level }) => level === 'MUST' || (alone && level === 'SHOULD')),
      'have the check make sure first that the target works',
      ({ id }) => `a null server passes ${id}`,
    ),
  unwilling: hindranceProblems,
  starved: hindranceProblems,
  defect: (subject, { checks }) => [
    ...(subject.breaks ?? [])
      .filter((broken) => !isLeftOut(checks, broken) && !isCaught(subject, checks, broken))
      .map((broken) => {
        const stuck = checks.filter((check) => check.outcome === 'blocked' && concerns(check, broken));
        const because = stuck.map(({ id, reason }) => `; blocked: ${id}: ${reason}`).join('');
        return {
          what: `not caught by ${broken}${because}`,
          todo: `sharpen that check, or correct \`breaks\`${inFile(subject)}`,
        };
      }),
    ...wordProblems(subject, checks.filter(isFinding)),
  ],
};

const inFile = ({ file }: Subject): string => (file === undefined ? '' : ` in ${file}`);

function wordProblems(subject: Subject, red: readonly CheckResult[]): Problem[] {
  const { tells } = subject;
  const wordless = red.filter(
    ({ expected, actual, counterexample = 'none' }) =>
      expected === undefined || actual === undefined || !/[a-z]{2}/i.test(String(counterexample)),
  );
  const untold = tells !== undefined && red.length > 0 && !tells.test(red.map(why).join('\n'));
  return [
    ...problems(
      wordless,
      'let the check say what it expected and what came',
      ({ id, counterexample }) => `${id} is red without words; counterexample ${counterexample}`,
    ),
    ...(untold
      ? [{ what: `no finding tells ${tells}`, todo: `let the check say it, or correct \`tells\`${inFile(subject)}` }]
      : []),
  ];
}

function rateProblems(subject: Subject, { checks }: Report): Problem[] {
  const { rate: due } = subject;
  const rates = checks.flatMap(({ id, rate }) => (rate === undefined ? [] : [`${id}: ${rateInWords(rate)}`]));
  if (due === undefined || rates.some((words) => due.test(words))) return [];
  const what = `no finding comes ${due}: ${rates.join('; ') || 'none was tried again'}`;
  return [{ what, todo: `let it come so, or correct \`rate\`${inFile(subject)}` }];
}

function hindranceProblems({ reason, file = 'the matrix' }: Subject, report: Report): Problem[] {
  const stuck = report.checks.filter(({ outcome }) => outcome === 'blocked');
  const shown = reason === undefined || stuck.some((check) => reason.test(check.reason ?? ''));
  return [
    ...problems(report.checks.filter(isFinding), 'the target is correct: block the check, with the reason'),
    ...problems(
      stuck.filter(({ fault }) => fault === true),
      'name this error: it is no fault in Muster',
      ({ id, reason: words }) => `${id}: ${words}`,
    ),
    ...(shown ? [] : [{ what: `no check is blocked by ${reason}`, todo: `correct \`reason\` in ${file}` }]),
  ];
}

const blockedProblems = (report: Report, slow = false): Problem[] =>
  problems(
    report.checks
      .filter(({ level, outcome }) => level !== 'INFO' && outcome === 'blocked')
      .filter(({ reason }) => !(slow && reason?.startsWith('not decided: ') === true)),
    'nothing was decided: repair the set-up',
    ({ id, reason }) => `blocked: ${id}: ${reason}`,
  );

const notAsDeclared = ({ declarations }: Report): Problem[] =>
  differences(declarations).map((one) => ({
    what: `not as declared: ${differenceInWords(one)}`,
    todo: 'the target is what it says: widen the bound of that declaration',
  }));

const concerns = ({ id, requirement_id }: CheckResult, broken: string): boolean =>
  requirement_id === broken || id === broken || id.startsWith(`${broken}.`);
