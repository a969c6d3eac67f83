import type { Form } from '../client/equivalent-forms.ts';
import { defined } from '../common/defined.ts';
import { readableDuration } from '../common/units.ts';
import { Attempts, isDecided, isFinding } from './attempts.ts';
import { leadsFirst } from './causes.ts';
import { runOverReason } from './check-result.ts';
import type { FormVariation } from './form-variation.ts';
import { type Plan, runInLanes, type Tries } from './plan.ts';
import { resultOf } from './results.ts';
import { seedOf } from './run-check.ts';
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
  /** Must not reject. */
  run(check: Check<Context>, session: Session, how?: CheckTurn): Promise<CheckResult>;
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
const SHARE_OF_THE_RUN = 1 / 3;

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
  const { plan, tries = plan.tries, excuses = () => false, signal, session, group, run, forms } = options;
  const why = new Map<string, string | undefined>();
  if (tries.times === 0) return why;
  const checkOf = ({ id }: CheckResult): Check<Context> =>
    plan.checks.find((planned) => planned.check.id === id)?.check as Check<Context>;
  const findings = results.filter((result) => isFinding(result) && !excuses(result));
  // Leaves out rules, because a rule judges the requests of other checks.
  const found = group(findings).filter((result) => checkOf(result).rule === undefined);
  for (const { id, consequence_of: cause } of found) why.set(id, cause && `may follow from ${cause}`);
  const budgetMs = Math.min(tries.mostMs, Math.max(tries.leastMs, (performance.now() - started) * SHARE_OF_THE_RUN));
  const end = performance.now() + budgetMs;
  const over = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(budgetMs))]);
  const retry = (finding: CheckResult): Promise<CheckResult> => {
    const fresh = session.forRetry();
    for (const { check: other } of plan.checks)
      if (other.deviation !== undefined && finding.allowed_for?.includes(other.deviation.name) === true)
        fresh.deviations.set(other.deviation, other.requirement.id);
    const form = forms?.found.get(finding.id);
    const how = { retry: { finding, signal: over }, ...defined({ form }) };
    return attempts.make(() => run(checkOf(finding), fresh, how), isDecided);
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

/** A finding with `path` needs little time to replay. */
function whyNotRetried({ path, duration_ms: tookMs }: CheckResult, signal: AbortSignal, end: number) {
  if (signal.aborted) return `the run was over: ${runOverReason(signal).reason}`;
  const leftMs = end - performance.now();
  if (leftMs <= 0) return 'no time left';
  return path === undefined && tookMs > leftMs ? `no time left: it takes ${readableDuration(tookMs)}` : undefined;
}

function roundRunner<Context>(
  { plan, signal, forms, run, onResult: tell }: RoundsOptions<Context>,
  attempts: Attempts,
  session: Session,
  isFirst: boolean,
) {
  const shaky = new Set<string>();
  return async (check: Check<Context>, premises: readonly CheckResult[]): Promise<CheckResult> => {
    const follows = premises.some(({ id }) => shaky.has(id));
    const counts = ({ outcome }: CheckResult): boolean => isFirst || outcome !== 'blocked' || !signal.aborted;
    let others: readonly CheckResult[] = [];
    const result = await attempts.make(async () => {
      if (signal.aborted && !session.history.isBroken(check.id))
        return undecided(check, 'blocked', runOverReason(signal));
      const cause = essentialAmong(premises, plan);
      if (cause !== undefined) return undecided(check, 'blocked', { reason: `blocked by ${cause}`, blocked_by: cause });
      if (forms === undefined || check.rule !== undefined || check.varied === false)
        return await run(check, session, { follows });
      const varied = await forms.run(check.id, (form) => run(check, session, defined({ follows, form })));
      others = varied.others ?? [];
      return varied.result;
    }, counts);
    for (const other of others) attempts.add(other);
    const { deviation, requirement } = check;
    if (deviation !== undefined && result.outcome === 'fail') session.deviations.set(deviation, requirement.id);
    if (follows || (deviation === undefined && result.outcome === 'fail')) shaky.add(check.id);
    tell(result);
    return result;
  };
}

function essentialAmong(premises: readonly CheckResult[], { checks }: Plan<never>): string | undefined {
  const isEssential = (id: string): boolean => checks.some(({ check }) => check.id === id && check.essential === true);
  const causes = premises.map(({ id, outcome, blocked_by: by }) => (outcome === 'fail' && isEssential(id) ? id : by));
  return causes.find((cause) => cause !== undefined);
}

const undecided = (check: Check<never>, outcome: Outcome, why: Partial<CheckResult>): CheckResult =>
  resultOf(check, { outcome, duration_ms: 0, ...why });
