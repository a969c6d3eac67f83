/** How a check of this suite is declared. */
import { checks, rules } from '../../../harness/runner/define.ts';
import { AT_ONCE, boundedProperty, type PropertyBounds } from '../../../harness/runner/property.ts';
import type { Check } from '../../../harness/runner/types.ts';
import type { PlatformContext } from '../../../harness/targets/opened.ts';
import { sections, writing } from '../../section.ts';
import type { Platform } from './requests.ts';

export type { Platform } from './requests.ts';

const declare = checks<PlatformContext>();
const declareRule = rules<PlatformContext>();

/** The check that at least one collection answers with a list: where none does, no other check means anything. */
export const ANY_LIST = 'platform.list.envelope.any';
/** Readers of pages allow for what this one finds. */
const ENVELOPE = 'platform.list.envelope';

/** So many random values are tried however slow the platform is. */
const LEAST_RANDOM = 2;

/**
 * No random value is tried after `randomMs`, but for the first ones; no smaller counterexample is looked for after
 * `shrinkMs`.
 */
export const propertyBounds = (randomMs: number, shrinkMs: number): PropertyBounds => ({
  shrinkMs,
  tryMs: () => randomMs,
  least: LEAST_RANDOM,
  examplesAtOnce: AT_ONCE,
  describeLeftOut: (tried, all) => `answers are slow: ${tried} of ${all} random values were tried`,
});
const BOUNDS = propertyBounds(5000, 10_000);

/** Declares a check of one requirement. */
function check(
  requirement: Parameters<typeof declare>[0],
  options: Parameters<typeof declare>[1],
  run: (t: Platform) => Promise<void>,
): Check<PlatformContext> {
  const id = options.aspect === undefined ? requirement.id : `${requirement.id}.${options.aspect}`;
  const premises = restingOn(id, options.premises);
  return declare(requirement, { ...writing(options), premises }, async (given) => {
    await run({ ...given, property: boundedProperty(given, BOUNDS) });
  });
}

/** Every check rests on the plainest ones, which come before it. */
function restingOn(id: string, premises: readonly string[] = []): string[] {
  const plainer = [ANY_LIST, ENVELOPE];
  return [...new Set([...plainer.slice(0, plainer.includes(id) ? plainer.indexOf(id) : 2), ...premises])];
}

export const section = sections<PlatformContext, Parameters<typeof check>>(check, (requirement, options, rule) =>
  declareRule(requirement, { ...options, premises: restingOn(requirement.id, options.premises) }, rule),
);
