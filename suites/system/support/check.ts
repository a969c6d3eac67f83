/** What every check of this suite is given, how a check is declared, and how it waits for an effect. */

import { pollWithin } from '../../../harness/common/waiting.ts';
import { checks } from '../../../harness/runner/define.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';
import type { SystemContext } from '../../../harness/targets/opened.ts';
import { archiveMade, boundedProperty, type Pace, paces, platformSide } from './platform-side.ts';

export type System = SystemContext & CheckContext;

const declare = checks<SystemContext>();
type Declare = typeof declare;

/** Soak runs take longer than requests, and a smaller counterexample costs a wait for what never comes. */
const SOAK = { randomMs: 30_000, shrinkMs: 500 };

/** Declares a check of one requirement. However it ends, it leaves no deployment behind that the platform lets it archive. */
export const check: Declare = (requirement, options, run) =>
  declare(requirement, options, async (t) => {
    try {
      await run({ ...t, property: boundedProperty(t, SOAK) });
    } finally {
      await archiveMade(platformSide(t));
    }
  });

/** An effect travels from the platform to the device and back, which takes longer than one answer. */
const EFFECT_TIMEOUT_FACTOR = 4;

/** How long effects take, and which ones never came. */
/** One deployment that is not archived is followed by others, though most of them are. */
const effectPaceOf = paces({ timesSlowest: 2, forgives: false });

/** A wait for one kind of effect: long, until such an effect has failed to come. */
export interface EffectWait {
  timeoutMs: number;
  /** The effect came. */
  came(): void;
  neverCame(): void;
}

/** `kind`: what is waited for, whichever deployment it concerns. */
export function waitForEffect(t: SystemContext, kind: string): EffectWait {
  const pace: Pace = effectPaceOf(t.platform.http.endpoint);
  const longest = EFFECT_TIMEOUT_FACTOR * Math.max(t.platform.patienceMs, t.device.patienceMs);
  const started = performance.now();
  return {
    timeoutMs: pace.waitMs(kind, longest),
    came: () => pace.answered(kind, performance.now() - started),
    neverCame: () => pace.timedOut(kind),
  };
}

/** `found` is what was waited for; `seen` is what there is instead. */
export type Look<T> = { found: T } | { seen: unknown };

/** `dpl_… to be archived` is the same kind of effect for every deployment, whatever else comes with it. */
const kindOf = (expected: string): string =>
  expected.includes('archived') ? 'archived' : expected.replaceAll(/\b[a-z]+_\w+/g, '{id}');

/** Waits until `look` finds something. Fails the check, and shows what was seen last, if the time is up. */
export async function eventually<T>(t: System, expected: string, look: () => Promise<Look<T>>): Promise<T> {
  const wait = waitForEffect(t, kindOf(expected));
  const { timeoutMs } = wait;
  let seen: unknown;
  const result = await pollWithin(
    expected,
    async () => {
      const now = await look();
      if ('found' in now) return now;
      seen = now.seen;
      return undefined;
    },
    { timeoutMs, firstPauseMs: 25, growth: 1.5, longestPauseMs: 1000, signal: t.signal },
  );
  if (result === undefined) wait.neverCame();
  t.must(result !== undefined, { expected: `${expected}, within ${timeoutMs / 1000} s`, actual: seen });
  wait.came();
  return result.found;
}
