/** Runs the checks of a plan, as often as it is asked for, and gives one result for each. */
import { defined } from '../common/defined.ts';
import { type Plan, schedule } from './plan.ts';
import { Attempts } from './rate.ts';
import { resultOf } from './results.ts';
import { whyOver } from './run-check.ts';
import type { Session } from './session.ts';
import type { Check, CheckResult } from './types.ts';

/** What is run, and who is told. */
export interface RoundsOptions<Context> {
  plan: Plan<Context>;
  /** Nothing can be decided: every check is blocked with this reason. */
  unreachable?: string;
  /** How often every check is run, one round after the other. Default: once. */
  repeat?: number;
  /** `shared` checks at once. Default 8. */
  concurrency?: number;
  /** Whether a baseline excuses that failure. */
  excuses?(result: CheckResult): boolean;
  /** Of the first round. */
  session: Session;
  /** Aborts when the run is over. */
  signal: AbortSignal;
  /** Must not reject. */
  run(check: Check<Context>, session: Session): Promise<CheckResult>;
  /** Gets each result as it comes. */
  tell(result: CheckResult): void;
}

export interface Rounds {
  /** One for each planned check, in the order of the plan. */
  results: CheckResult[];
  /** Those that came to their end. */
  rounds: number;
}

export async function runRounds<Context>(options: RoundsOptions<Context>): Promise<Rounds> {
  const { plan, unreachable, repeat = 1, concurrency = 8, excuses = () => false, signal } = options;
  const attempts = new Attempts();
  const due: Check<Context>[] = [];
  for (const { check, skip } of plan.checks) {
    const left =
      skip !== undefined
        ? undecided(check, 'not_applicable', { reason: skip })
        : unreachable !== undefined && check.runsWhenUnreachable !== true
          ? undecided(check, 'blocked', { reason: unreachable })
          : undefined;
    if (left === undefined) due.push(check);
    else {
      attempts.add(left);
      options.tell(left);
    }
  }
  let { session } = options;
  let rounds = 0;
  while (rounds < repeat && (rounds === 0 || !signal.aborted)) {
    await schedule(due, concurrency, oneOf(options, attempts, session, rounds === 0));
    if (signal.aborted) break;
    rounds += 1;
    session = session.again();
  }
  const results = plan.checks.flatMap(({ check }) => {
    const result = attempts.worst(check.id, excuses);
    if (result === undefined) return [];
    const { deviation } = result.outcome === 'fail' ? check : {};
    const rate = repeat > 1 && due.includes(check) ? attempts.rate(result) : undefined;
    return { ...result, ...defined({ deviation, rate }) };
  });
  return { results, rounds };
}

/** Runs a check of one round. */
const oneOf =
  <Context>(
    { plan, signal, run, tell }: RoundsOptions<Context>,
    attempts: Attempts,
    session: Session,
    isFirst: boolean,
  ) =>
  async (check: Check<Context>, premises: readonly CheckResult[]): Promise<CheckResult> => {
    // What the end of the run cuts off says nothing about a check that was decided before.
    const counts = ({ outcome }: CheckResult): boolean => isFirst || outcome !== 'blocked' || !signal.aborted;
    const result = await attempts.make(async () => {
      if (signal.aborted) return undecided(check, 'blocked', whyOver(signal));
      const cause = essentialAmong(premises, plan);
      if (cause === undefined) return await run(check, session);
      return undecided(check, 'blocked', { reason: `blocked by ${cause}`, blocked_by: cause });
    }, counts);
    const { deviation, requirement } = check;
    if (deviation !== undefined && result.outcome === 'fail') session.deviations.set(deviation, requirement.id);
    tell(result);
    return result;
  };

/** The failed check without which nothing can be asked: one of the premises, or what has blocked one of them. */
function essentialAmong(premises: readonly CheckResult[], { checks }: Plan<never>): string | undefined {
  const isEssential = (id: string): boolean => checks.some(({ check }) => check.id === id && check.essential === true);
  for (const { id, outcome, blocked_by } of premises) {
    if (outcome === 'fail' && isEssential(id)) return id;
    if (blocked_by !== undefined) return blocked_by;
  }
  return undefined;
}

const undecided = (
  check: Check<never>,
  outcome: 'blocked' | 'not_applicable',
  why: Pick<CheckResult, 'reason' | 'blocked_by' | 'fault'>,
): CheckResult => resultOf(check, { outcome, duration_ms: 0, ...why });
