import { defined } from '../common/defined.ts';
import { CAPABILITIES, CAPABILITY_OPTIONS } from '../contract/capabilities.ts';
import { PROFILES } from '../contract/profiles.ts';
import { isHeld } from './define.ts';
import { type Plan, type Planned, profilesOf } from './plan.ts';
import type { Capability, CheckResult, Coverage, Outcome, Report, Suite, Undecided } from './types.ts';

type CoveredPlan = Pick<Plan<never>, 'size' | 'profileSize' | 'narrowedBy'> & {
  readonly profile: { readonly name: string };
  readonly checks: readonly (Omit<Planned<never>, 'check'> & { readonly check: { readonly id: string } })[];
};

export const DECIDED: ReadonlySet<Outcome> = new Set(['pass', 'fail', 'warn', 'known', 'flaky', 'fixed']);

/**
 * Counts the decided checks of the requirement set, or with `ofProfile` of the profile.
 * In a profile, two more kinds of check count as decided: an undecided check if a different check decided the same
 * requirement, and a check that ran and ended as not applicable.
 */
export function coverageOf(
  plan: CoveredPlan,
  results: readonly CheckResult[],
  capabilities: readonly Capability[],
  { ofProfile = false }: { ofProfile?: boolean } = {},
): Coverage {
  const due = plan.checks.filter(({ inProfile }) => inProfile || !ofProfile);
  const planned = new Map(due.map((each) => [each.check.id, each]));
  const own = results.filter(({ id }) => planned.has(id));
  const decided = new Set(own.filter(({ outcome }) => DECIDED.has(outcome)).map((each) => each.requirement_id));
  const isDecided = ({ id, outcome, requirement_id: of }: CheckResult): boolean =>
    DECIDED.has(outcome) ||
    (ofProfile && outcome === 'undecided' && decided.has(of)) ||
    (ofProfile && outcome === 'not_applicable' && planned.get(id)?.skip === undefined);
  const open = own.filter((result) => !isDecided(result));
  const size = ofProfile ? plan.profileSize : plan.size;
  const choosing = /^--(?:only|section|last-failed)\b|^--profile core$/;
  const chosenBy = plan.narrowedBy.flatMap((option) => choosing.exec(option)?.[0] ?? []).join(' and ');
  const notChosen = { why: `left out by ${chosenBy || `--profile ${plan.profile.name}`}` };
  const reasons: Reason[] = [
    ...open.map((result) => whyUndecided(result, planned.get(result.id)?.leftOutBy, capabilities)),
    ...Array.from({ length: size - own.length }, () => notChosen),
  ];
  const groups = Map.groupBy(reasons, ({ why }) => why);
  const undecided = [...groups.values()].map((members) => {
    const alike = [...Map.groupBy(members, ({ because }) => because).values()];
    const [[first] = []] = alike.toSorted((a, b) => b.length - a.length);
    const { because, ...one } = first as Reason;
    const agreeing = members.length > 1 ? one.why : one.why.replace(/^(need|rest)\b/, '$1s').replace(/^are\b/, 'is');
    const why = agreeing + (because === undefined ? '' : ` (${because})`);
    return { checks: members.length, ...one, why };
  });
  return {
    checks: size,
    decided: own.length - open.length,
    undecided: undecided.toSorted((a, b) => b.checks - a.checks),
  };
}

/** Reasons why a named profile is not decided. A narrowed run excuses left-out and blocked checks, but no others. */
export function openOfProfile(
  { isNamed, narrowedBy, profile }: Pick<Plan<never>, 'isNamed' | 'narrowedBy' | 'profile'>,
  { undecided }: Coverage,
): string[] {
  if (!isNamed) return [];
  const isExcused = (why: string): boolean => narrowedBy.length > 0 && /^(?:left out by |blocked$)/.test(why);
  const open = undecided.filter(({ why }) => !isExcused(why));
  return open.map(({ checks, why }) => `--profile ${profile.name}: ${checks} ${why}`);
}

/** Largest profile, below the run's own, whose requirements the run has all decided. */
export function decidedProfile({ checks }: Pick<Suite<never>, 'checks'>, report: Report): string | undefined {
  const { api, profile, requirements_version: date } = report;
  const results = new Map(report.checks.map((result) => [result.id, result.outcome]));
  const isDecided = (name: string): boolean => {
    const due = checks.filter((check) => profilesOf(api, check).includes(name) && isHeld(check.requirement, date));
    const decided = due.filter(({ id }) => DECIDED.has(results.get(id) ?? 'blocked'));
    const requirements = new Set(decided.map(({ requirement }) => requirement.id));
    return due.length > 0 && due.every(({ requirement }) => requirements.has(requirement.id));
  };
  const names = PROFILES[api].map(({ name }) => name);
  return names.slice(0, names.indexOf(profile)).findLast(isDecided);
}

type Reason = Omit<Undecided, 'checks'> & { because?: string };

/** Capabilities that no option can add, because a target has a single transport. */
const TRANSPORTS: ReadonlySet<Capability> = new Set(['unix', 'loopback']);

function whyUndecided(
  { outcome, needs = [], blocked_by, reason = '' }: CheckResult,
  leftOutBy: string | undefined,
  capabilities: readonly Capability[],
): Reason {
  if (blocked_by !== undefined) return { why: 'rest on a check that failed' };
  if (outcome === 'blocked') return { why: 'blocked' };
  if (outcome === 'undecided') return { why: 'saw too little', because: reason };
  if (leftOutBy !== undefined) return { why: `left out by ${leftOutBy}` };
  const missing = needs.filter((need) => !capabilities.includes(need));
  if (missing.some((need) => TRANSPORTS.has(need))) return { why: 'are about another transport', needs: missing };
  const [first] = missing.toSorted((left, right) => CAPABILITIES.indexOf(left) - CAPABILITIES.indexOf(right));
  if (first === undefined) return { why: 'did not apply to what the target showed' };
  const add = CAPABILITY_OPTIONS[first];
  return { why: `need ${first}`, needs: [first], ...defined({ add }) };
}

export interface Demands {
  require?: readonly Capability[];
  /** Minimum number of decided checks, or minimum percentage of all checks. */
  minDecided?: { count: number } | { percent: number };
}

export function unmetDemands(
  { require = [], minDecided }: Demands,
  { checks, decided }: Coverage,
  capabilities: readonly Capability[],
): string[] {
  const lacking = require.filter((name) => !capabilities.includes(name));
  const unmet = lacking.map((name) => {
    const option = CAPABILITY_OPTIONS[name];
    return `--require ${name}: the target does not have it${option === undefined ? '' : `; add ${option}`}`;
  });
  if (minDecided === undefined) return unmet;
  const least = 'count' in minDecided ? minDecided.count : (minDecided.percent * checks) / 100;
  const words = 'count' in minDecided ? minDecided.count : `${minDecided.percent}%`;
  if (decided < least) unmet.push(`--min-decided ${words}: ${decided} of ${checks} checks were decided`);
  return unmet;
}
