/**
 * Requirement sets, each with a date and every requirement in force then. A released set never changes, so a new
 * requirement never fails yesterday's certificate. `fixtures/requirements` records each released set, and says how to
 * add one.
 */
import { createHash } from 'node:crypto';
import { UsageError } from '../common/usage.ts';
import type { Requirement, RequirementSet, Suite } from './types.ts';

/** Dates of all sets, oldest first. */
export const REQUIREMENT_SETS: readonly string[] = ['2026-11-21', '2026-11-22', '2026-11-23', '2026-11-25'];

/**
 * Requirement set of that date, or the newest one.
 * @param date YYYY-MM-DD
 * @throws UsageError that lists the sets when there is none of that date
 */
export function requirementSet<Context>(suite: Suite<Context>, date?: string): RequirementSet {
  const chosen = date ?? suite.requirementSets.at(-1) ?? '';
  if (!suite.requirementSets.includes(chosen)) {
    throw new UsageError(
      `--requirements ${chosen}: there is no such requirement set; accepted: ${suite.requirementSets.join(', ')}`,
    );
  }
  return { date: chosen, digest: requirementsDigest(requirementsOf(suite, chosen)) };
}

/** Whether the set of a date (YYYY-MM-DD) contains a requirement. */
export const isHeld = ({ since, until }: Pick<Requirement, 'since' | 'until'>, date: string): boolean =>
  since <= date && (until === undefined || date < until);

/** Requirements in the set of a date (YYYY-MM-DD), by id. */
export function requirementsOf<Context>(suite: Suite<Context>, date: string): Requirement[] {
  const all = new Map(suite.checks.map(({ requirement }) => [requirement.id, requirement]));
  return [...all.values()].filter((each) => isHeld(each, date)).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * `sha256:` and the SHA-256 of the requirements as JSON without spaces, `[{"id","level","section","text"}, …]`, sorted
 * by id. The quoted clause is left out, since it explains a requirement and decides nothing.
 */
export function requirementsDigest(requirements: readonly Requirement[]): string {
  const statements = requirements
    .map(({ id, level, section, text }) => ({ id, level, section, text }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  return `sha256:${createHash('sha256').update(JSON.stringify(statements)).digest('hex')}`;
}
