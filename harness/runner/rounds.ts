import type { Form } from '../client/equivalent-forms.ts';
import { defined } from '../common/defined.ts';
import { readableDuration } from '../common/units.ts';
import { Attempts, isDecided, isFinding } from './attempts.ts';
import { leadsFirst } from './causes.ts';
import { runOverReason } from './check-result.ts';
import { type FormVariation, inUsualForm } from './form-variation.ts';
import { inOrder, type Lane, laneOf, type Plan, premisesOf, type Tries } from './plan.ts';
import { resultOf } from './results.ts';
import { type CheckRun, runCheck, seedOf } from './run-check.ts';
import type { Session } from './session.ts';
import type { Check, CheckResult, Outcome } from './types.ts';

export interface RoundsOptions<Context> {
  plan: Plan<Context>;
  unreachable?: string;
  repeat?: number;
  tries?: Tries;
  concurrency?: number;
  excuses?(result: CheckResult): boolean;
  forms?: FormVariation;
  seed: number;
  session: Session;
  signal: AbortSignal;
  group(results: readonly CheckResult[]): CheckResult[];
  toRun(check: Check<Context>, session: Session, how: CheckTurn): CheckRun<Context>;
  onResult(result: CheckResult): void;
}

interface CheckTurn {
  retry?: { finding: CheckResult; signal: AbortSignal };
  follows?: boolean;
  form?: Form;
}

export async function runRounds<Context>(options: RoundsOptions<Context>) {
  const { plan, seed, unreachable, repeat = 1, concurrency = 8, excuses = () => false, signal } = options;
  const started = performance.now();
  const attempts = new Attempts();
  const due: Check<Context>[] = [];
  for (const { check, skip } of plan.checks) {
    let left: CheckResult | undefined;
    if (skip !== undefined) left = undecided(check, 'not_applicable', { reason: skip });
    else if (unreachable !== undefined && check.runsWhenUnreachable !== true)
      left = undecided(check, 'blocked', { reason: unreachable });
    if (left === undefined) due.push(check);
    else {
      attempts.add(left);
      options.onResult(left);
    }
  }
  // Shuffles within four groups: `first`, checks with a `deviation`, other checks, and `last`.
  const place = ({ turn, deviation }: Check<Context>): number =>
    TURNS.indexOf(turn ?? (deviation === undefined ? undefined : 'telling'));
  const shuffled = due.toSorted((a, b) => place(a) - place(b) || seedOf(seed, a.id) - seedOf(seed, b.id));
  let { session } = options;
  let rounds = 0;
  while (rounds < repeat && (rounds === 0 || !signal.aborted)) {
    const runOne = roundRunner(options, attempts, session, rounds === 0);
    await runInLanes(shuffled, concurrency, runOne, session);
    if (signal.aborted) break;
    rounds += 1;
    session = session.forRetry();
    session.history.renew();
  }
  const worst = (): CheckResult[] =>
    plan.checks.flatMap(({ check, inProfile }) => {
      const result = attempts.worst(check.id, excuses);
      if (result === undefined) return [];
      const { deviation } = result.outcome === 'fail' ? check : {};
      return { ...result, ...defined({ deviation }), ...(inProfile && { in_profile: true }) };
    });
  const why = await retryFindings(options, worst(), attempts, started);
  const isRated = ({ id }: CheckResult): boolean => why.has(id) || (repeat > 1 && due.some((check) => check.id === id));
  const results: CheckResult[] = worst().map((result) =>
    isRated(result) ? { ...result, rate: attempts.rate(result, why.get(result.id)) } : result,
  );
  return { results, rounds };
}

const TURNS = ['first', 'telling', undefined, 'last'];

/**
 * Runs the check of each leading finding again, alone and while time is left, to measure failure rates. Resolves with
 * the ids of findings, each with the reason why its check did not run again, or undefined if the check did.
 */
async function retryFindings<Context>(
  options: RoundsOptions<Context>,
  results: readonly CheckResult[],
  attempts: Attempts,
  started: number,
): Promise<Map<string, string | undefined>> {
  const { plan, tries = plan.tries, excuses = () => false, signal, session, group, toRun, forms } = options;
  const why = new Map<string, string | undefined>();
  if (tries.times === 0) return why;
  const checkOf = ({ id }: CheckResult): Check<Context> =>
    plan.checks.find((planned) => planned.check.id === id)?.check as Check<Context>;
  const findings = results.filter((result) => isFinding(result) && !excuses(result));
  // Leaves out rules: a rule judges the requests of other checks, and its own check sends none.
  const found = group(findings).filter((result) => checkOf(result).rule === undefined);
  for (const { id, consequence_of: cause } of found) why.set(id, cause && `may follow from ${cause}`);
  const budgetMs = Math.min(tries.mostMs, Math.max(tries.leastMs, (performance.now() - started) / 3));
  const end = performance.now() + budgetMs;
  const over = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(budgetMs))]);
  const retry = async (finding: CheckResult): Promise<CheckResult> => {
    using own = attempts.begin();
    const fresh = session.forRetry();
    fresh.sought = finding.requirement_id;
    for (const { check: other } of plan.checks)
      if (other.deviation !== undefined && finding.allowed_for?.includes(other.deviation.name) === true)
        fresh.deviations.set(other.deviation, other.requirement.id);
    const how = { retry: { finding, signal: over }, ...defined({ form: forms?.found.get(finding.id) }) };
    const result = await runCheck(toRun(checkOf(finding), fresh, how));
    if (isDecided(result)) attempts.add(result, own.isAlone);
    return result;
  };
  const decided = new Set<string>();
  for (let time = 0; time < tries.times; time += 1) {
    for (const lead of leadsFirst(found)) {
      let reason = whyNotRetried(lead, signal, end);
      if (reason === undefined) {
        const result = await retry(lead);
        if (isDecided(result)) decided.add(lead.id);
        else reason = over.aborted ? whyNotRetried(lead, signal, 0) : `undecided when it was tried: ${result.reason}`;
      }
      if (decided.has(lead.id)) reason = undefined;
      why.set(lead.id, reason);
    }
  }
  return why;
}

/** Why a check is not tried again. A finding with `path` fits into any time left, because its replay is short. */
function whyNotRetried({ path, duration_ms: tookMs }: CheckResult, signal: AbortSignal, end: number) {
  if (signal.aborted) return `the run was over: ${runOverReason(signal).reason}`;
  const leftMs = end - performance.now();
  if (leftMs <= 0) return 'no time left';
  return path === undefined && tookMs > leftMs ? `no time left: it takes ${readableDuration(tookMs)}` : undefined;
}

function roundRunner<Context>(
  { plan, signal, forms, toRun, onResult: tell }: RoundsOptions<Context>,
  attempts: Attempts,
  session: Session,
  isFirst: boolean,
) {
  const shaky = new Set<string>();
  const essential = new Set(plan.checks.flatMap(({ check }) => (check.essential === true ? [check.id] : [])));
  const whyLeft = (check: Check<Context>, premises: readonly CheckResult[]): Partial<CheckResult> | undefined => {
    if (signal.aborted && !session.history.isBroken(check.id)) return runOverReason(signal);
    const causes = premises.map((one) => (one.outcome === 'fail' && essential.has(one.id) ? one.id : one.blocked_by));
    const cause = causes.find((each) => each !== undefined);
    return cause === undefined ? undefined : { reason: `blocked by ${cause}`, blocked_by: cause };
  };
  return async (check: Check<Context>, before: Promise<readonly CheckResult[]>): Promise<CheckResult> => {
    const premises = await before;
    const follows = premises.some(({ id }) => shaky.has(id));
    using own = attempts.begin();
    const why = whyLeft(check, premises);
    const isUsual = check.rule !== undefined || check.varied === false;
    const trial = isUsual || forms === undefined ? inUsualForm() : forms.inForms(check.id);
    let step = trial.next();
    while (why === undefined && step.done !== true)
      step = trial.next(await runCheck(toRun(check, session, defined({ follows, form: step.value }))));
    const { result, others = [] } =
      step.done === true ? step.value : { result: undecided(check, 'blocked', { ...why }) };
    if (isFirst || result.outcome !== 'blocked' || !signal.aborted) attempts.add(result, own.isAlone);
    for (const other of others) attempts.add(other);
    const { deviation, requirement } = check;
    if (deviation !== undefined && result.outcome === 'fail') session.deviations.set(deviation, requirement.id);
    if (follows || (deviation === undefined && result.outcome === 'fail')) shaky.add(check.id);
    tell(result);
    return result;
  };
}

/** `runOne` must not reject. */
export async function runInLanes<Context>(
  checks: readonly Check<Context>[],
  concurrency: number,
  runOne: (check: Check<Context>, premises: Promise<readonly CheckResult[]>) => Promise<CheckResult>,
  session: Pick<Session, 'publishesTogether' | 'others'>,
): Promise<void> {
  const ordered = inOrder(checks);
  const results = new Map(ordered.map((check) => [check, Promise.withResolvers<CheckResult>()]));
  const start = (check: Check<Context>): Promise<CheckResult> => {
    const premises = premisesOf(check, ordered).map((premise) => results.get(premise)?.promise as Promise<CheckResult>);
    const result = runOne(check, Promise.all(premises));
    results.get(check)?.resolve(result);
    return result;
  };
  // Delays checks marked `last` and their dependants; one pass finds all, because `ordered` has premises before
  // dependants.
  const last = new Set<Check<Context>>();
  for (const check of ordered)
    if (check.turn === 'last' || premisesOf(check, ordered).some((premise) => last.has(premise))) last.add(check);
  const lane = (which: Lane, isLast?: boolean): Check<Context>[] =>
    ordered.filter((check) => laneOf(check) === which && (isLast ?? last.has(check)) === last.has(check));
  const joins = (check: Check<Context>, rest: readonly Check<Context>[]): boolean =>
    check.sharing === 'publishing' && session.publishesTogether() && premisesOf(check, rest).length === 0;
  const inTurn = async (isLast: boolean): Promise<unknown> =>
    Promise.all([
      runLane(lane('shared', isLast), start, () => concurrency),
      runLane(lane('exclusive', isLast), start, (...given) => (joins(...given) ? PUBLISHING_AT_ONCE : 1)),
    ]);
  const beside = lane('slow').filter(({ slow }) => slow === 'beside');
  const waiting = lane('slow').filter((check) => !beside.includes(check));
  session.others = Promise.all([...waiting.map(start), inTurn(false).then(() => inTurn(true))]);
  await Promise.all([...beside.map(start), session.others]);
  await runLane(lane('disruptive'), start, () => 1);
  await runLane(lane('rules'), start, () => concurrency);
}

const PUBLISHING_AT_ONCE = 4;

/** Runs the checks that may run beside others first. `widthOf`: number of checks that may run at once. */
async function runLane<Context>(
  checks: readonly Check<Context>[],
  start: (check: Check<Context>) => Promise<CheckResult>,
  widthOf: (check: Check<Context>, rest: readonly Check<Context>[]) => number,
): Promise<void> {
  const rest = [...checks];
  const running = new Set<Promise<unknown>>();
  while (rest.length > 0) {
    const at = rest.findIndex((check) => widthOf(check, rest) > 1);
    const [next] = rest.splice(Math.max(0, at), 1);
    if (next === undefined) break;
    const width = widthOf(next, rest);
    if (width === 1) await Promise.all(running);
    const one = start(next).finally(() => running.delete(one));
    running.add(one);
    if (running.size >= width) await Promise.race(running);
  }
  await Promise.all(running);
}

const undecided = (check: Check<never>, outcome: Outcome, why: Partial<CheckResult>): CheckResult =>
  resultOf(check, { outcome, duration_ms: 0, ...why });
