/**
 * How much of the requirement set a run decided, what kept it from the rest, and whether that is as much as was asked
 * for.
 */
import { defined } from '../common/defined.ts';
import { CAPABILITIES, CAPABILITY_OPTIONS } from '../contract/capabilities.ts';
import type { Plan } from './plan.ts';
import type { Capability, CheckResult, Coverage, Outcome, Undecided } from './types.ts';

/** The part of a plan that says why checks did not run. */
type Planned = Pick<Plan<never>, 'size' | 'narrowedBy'> & {
  readonly checks: readonly { readonly check: { readonly id: string }; readonly leftOutBy?: string }[];
};

const DECIDED: ReadonlySet<Outcome> = new Set(['pass', 'fail', 'warn', 'known', 'flaky', 'fixed']);

/** The coverage of a run. `results` may hold complaints about the baseline, which are no checks. */
export function coverageOf(
  plan: Planned,
  results: readonly CheckResult[],
  capabilities: readonly Capability[],
  profile = 'full',
): Coverage {
  const planned = new Map(plan.checks.map(({ check, leftOutBy }) => [check.id, leftOutBy]));
  const own = results.filter(({ id }) => planned.has(id));
  const open = own.filter(({ outcome }) => !DECIDED.has(outcome));
  const reasons = [
    ...open.map((result) => whyUndecided(result, planned.get(result.id), capabilities)),
    ...Array.from({ length: plan.size - own.length }, () => notChosen(plan.narrowedBy, profile)),
  ];
  const groups = Map.groupBy(reasons, ({ why }) => why);
  const undecided = [...groups.values()].flatMap((members) =>
    members
      .slice(0, 1)
      .map((first) => ({ ...first, checks: members.length, why: agreeing(first.why, members.length) })),
  );
  return {
    checks: plan.size,
    decided: own.length - open.length,
    undecided: undecided.toSorted((a, b) => b.checks - a.checks),
  };
}

const agreeing = (why: string, count: number): string =>
  count === 1 ? why.replace(/^(need|rest)\b/, '$1s').replace(/^are\b/, 'is') : why;

/** A target has one of these, so that no option adds the other. */
const TRANSPORTS: ReadonlySet<Capability> = new Set(['unix', 'loopback']);

function whyUndecided(
  { outcome, needs = [], blocked_by }: CheckResult,
  leftOutBy: string | undefined,
  capabilities: readonly Capability[],
): Undecided {
  if (blocked_by !== undefined) return { checks: 1, why: 'rest on a check that failed' };
  if (outcome === 'blocked') return { checks: 1, why: 'blocked' };
  if (leftOutBy !== undefined) return { checks: 1, why: `left out by ${leftOutBy}` };
  const missing = needs.filter((need) => !capabilities.includes(need));
  if (missing.some((need) => TRANSPORTS.has(need)))
    return { checks: 1, why: 'are about another transport', needs: missing };
  // What is missing first is asked for first: without it the others would not help.
  const [first] = missing.toSorted((left, right) => CAPABILITIES.indexOf(left) - CAPABILITIES.indexOf(right));
  if (first === undefined) return { checks: 1, why: 'did not apply to what the target showed' };
  const add = CAPABILITY_OPTIONS[first];
  return { checks: 1, why: `need ${first}`, needs: [first], ...defined({ add }) };
}

/** Options that chose among the checks, which are in no plan then. */
function notChosen(narrowedBy: readonly string[], profile: string): Undecided {
  const choosing = narrowedBy
    .map((option) => option.split(' ')[0] ?? '')
    .filter((name) => /^--(only|section)$/.test(name));
  const by = [...choosing, ...(profile === 'full' ? [] : [`--profile ${profile}`])];
  return { checks: 1, why: `left out by ${by.join(' and ') || 'the run'}` };
}

/** What a run has to decide at least. */
export interface Demands {
  /** Capabilities that the target must have. */
  require?: readonly Capability[];
  /** Checks that must be decided: a number of them, or percent of the requirement set. */
  minDecided?: { count: number } | { percent: number };
}

/** What a run was asked for in vain, a sentence each. */
export function unmetDemands(
  { require = [], minDecided }: Demands,
  { checks, decided }: Coverage,
  capabilities: readonly Capability[],
): string[] {
  const lacking = require.filter((name) => !capabilities.includes(name));
  const least =
    minDecided === undefined
      ? undefined
      : 'count' in minDecided
        ? { count: minDecided.count, words: String(minDecided.count) }
        : { count: (minDecided.percent / 100) * checks, words: `${minDecided.percent}%` };
  return [
    ...lacking.map((name) => {
      const option = CAPABILITY_OPTIONS[name];
      return `--require ${name}: the target does not have it${option === undefined ? '' : `; add ${option}`}`;
    }),
    ...(least === undefined || decided >= least.count
      ? []
      : [`--min-decided ${least.words}: ${decided} of ${checks} checks were decided`]),
  ];
}
