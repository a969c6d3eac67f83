/**
 * Requirement sets by date; a released set never changes, so old certificates stay valid.
 * `fixtures/requirements` records released sets, and says how to add one.
 */
import { createHash } from 'node:crypto';
import { UsageError } from '../common/usage.ts';
import type { Requirement, RequirementSet, Suite } from './types.ts';

export const REQUIREMENT_SETS: readonly string[] = ['2026-11-21', '2026-11-22', '2026-11-23', '2026-11-25'];

/** Requirement set of a date (YYYY-MM-DD), by default the newest. Throws UsageError for an unknown date. */
export function requirementSet<Context>(suite: Suite<Context>, date?: string): RequirementSet {
  const chosen = date ?? suite.requirementSets.at(-1) ?? '';
  if (!suite.requirementSets.includes(chosen)) {
    throw new UsageError(
      `--requirements ${chosen}: there is no such requirement set; accepted: ${suite.requirementSets.join(', ')}`,
    );
  }
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
