import { checks, rules } from '../../../harness/runner/define.ts';
import { AT_ONCE, boundedProperty, type PropertyBounds } from '../../../harness/runner/property.ts';
import type { Check } from '../../../harness/runner/types.ts';
import type { PlatformContext } from '../../../harness/targets/opened.ts';
import { sections, writing } from '../../section.ts';
import type { Platform } from './requests.ts';

export type { Platform } from './requests.ts';

const declare = checks<PlatformContext>();
const declareRule = rules<PlatformContext>();

/** Premise of all checks, since a platform without any list shows nothing. */
export const ANY_LIST = 'platform.list.envelope.any';
/** Check of the envelope; once it has failed, other checks tolerate its deviation. */
const ENVELOPE = 'platform.list.envelope';

export const propertyBounds = (randomMs: number, shrinkMs: number): PropertyBounds => ({
  shrinkMs,
  tryMs: () => randomMs,
  least: 2,
  examplesAtOnce: AT_ONCE,
  describeLeftOut: (tried, all) => `answers are slow: ${tried} of ${all} random values were tried`,
});

function check(
  requirement: Parameters<typeof declare>[0],
  options: Parameters<typeof declare>[1],
  run: (t: Platform) => Promise<void>,
): Check<PlatformContext> {
  const id = options.aspect === undefined ? requirement.id : `${requirement.id}.${options.aspect}`;
  const premises = restingOn(id, options.premises);
  return declare(requirement, { ...writing(options), premises }, async (given) => {
    await run({ ...given, property: boundedProperty(given, propertyBounds(5000, 10_000)) });
  });
}

function restingOn(id: string, premises: readonly string[] = []): string[] {
  const plainer = [ANY_LIST, ENVELOPE];
  return [...new Set([...plainer.slice(0, plainer.includes(id) ? plainer.indexOf(id) : 2), ...premises])];
}

export const section = sections<PlatformContext, Parameters<typeof check>>(check, (requirement, options, rule) =>
  declareRule(requirement, { ...options, premises: restingOn(requirement.id, options.premises) }, rule),
);
