import { createHash } from 'node:crypto';
import { UsageError } from '../common/usage.ts';
import type { Rule } from './rules.ts';
import type { Api, Check, Requirement, RequirementSet, Suite } from './types.ts';

/**
 * A released set never changes, so that old certificates stay valid. `fixtures/requirements` records released sets, and
 * describes how to add one.
 */
export const REQUIREMENT_SETS: readonly string[] = ['2026-11-21', '2026-11-22', '2026-11-23', '2026-11-25'];

/** Requirement set of `date` (YYYY-MM-DD), by default the newest. Throws UsageError for an unknown date. */
export function requirementSet<Context>(suite: Suite<Context>, date?: string): RequirementSet {
  const chosen = date ?? suite.requirementSets.at(-1) ?? '';
  if (!suite.requirementSets.includes(chosen))
    throw new UsageError(
      `--requirements ${chosen}: there is no such requirement set; accepted: ${suite.requirementSets.join(', ')}`,
    );
  return { date: chosen, digest: requirementsDigest(requirementsOf(suite, chosen)) };
}

export const isHeld = ({ since, until }: Pick<Requirement, 'since' | 'until'>, date: string): boolean =>
  since <= date && (until === undefined || date < until);

export function requirementsOf<Context>(suite: Suite<Context>, date: string): Requirement[] {
  const all = new Map(suite.checks.map(({ requirement }) => [requirement.id, requirement]));
  return [...all.values()].filter((each) => isHeld(each, date)).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * `sha256:` of the requirements as compact JSON `[{"id","level","section","text"}, …]`, sorted by id.
 * Excludes `clause`, a quotation of the specification that changes no requirement.
 */
export function requirementsDigest(requirements: readonly Requirement[]): string {
  const statements = requirements
    .map(({ id, level, section, text }) => ({ id, level, section, text }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  return `sha256:${createHash('sha256').update(JSON.stringify(statements)).digest('hex')}`;
}

export const requirement = (declared: Requirement): Requirement => Object.freeze(declared);

type Options<Context> = Omit<Check<Context>, 'id' | 'requirement' | 'run'> & {
  /** Distinguishes checks of one requirement: the id becomes `<requirement>.<aspect>`. */
  aspect?: string;
};

/**
 * Returns the function that declares checks of one API: `const check = checks<DeviceContext>()`.
 * A check passes only after at least one request, unless `least` sets other minimums.
 */
export function checks<Context>() {
  return (requirement: Requirement, options: Options<Context>, run: Check<Context>['run']): Check<Context> => {
    const { aspect, ...rest } = options;
    return Object.freeze({
      least: { requests: 1 },
      ...rest,
      id: aspect === undefined ? requirement.id : `${requirement.id}.${aspect}`,
      requirement,
      run,
    });
  };
}

/**
 * Returns the function that declares rules of one API. A rule without an examined case ends as undecided, and `traffic`
 * then names the traffic that decides the rule.
 */
export function rules<Context>() {
  return (
    requirement: Requirement,
    options: Pick<Options<Context>, 'aspect' | 'premises' | 'profile' | 'needs' | 'bySecrets'> & { traffic: string },
    rule: () => Rule,
  ): Check<Context> => {
    const { aspect = 'everywhere', traffic, ...rest } = options;
    const id = `${requirement.id}.${aspect}`;
    const orElse = `no traffic was seen that decides it: ${traffic}`;
    return Object.freeze({ least: { sightings: 1 }, orElse, ...rest, id, requirement, rule, run: async () => {} });
  };
}

/**
 * Joins lists of checks into a suite.
 * @param sets dates of the requirement sets, oldest first
 * @throws Error for a duplicate check id, two requirements with one id, or an unknown `since` or `until`
 */
export function suite<Context>(
  api: Api,
  all: readonly (readonly Check<Context>[])[],
  sets: readonly string[] = REQUIREMENT_SETS,
): Suite<Context> {
  const list = all.flat();
  const seen = new Set<string>();
  const declared = new Map<string, Requirement>();
  for (const { id, requirement } of list) {
    if (seen.has(id)) throw new Error(`two checks are called ${id}`);
    seen.add(id);
    if ((declared.get(requirement.id) ?? requirement) !== requirement)
      throw new Error(`two requirements are called ${requirement.id}`);
    declared.set(requirement.id, requirement);
    const { since, until = since } = requirement;
    const unknown = [since, until].find((date) => !sets.includes(date));
    if (unknown !== undefined)
      throw new Error(`${requirement.id}: there is no requirement set of ${unknown} (${sets.join(', ')})`);
  }
  return Object.freeze({ api, requirementSets: sets, checks: list });
}
