/** What every check of this suite is given, how a check is declared, and how it waits for an effect. */

import { pollWithin } from '../../../harness/common/waiting.ts';
import { checks } from '../../../harness/runner/define.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';
import type { SystemContext } from '../../../harness/targets/opened.ts';
import { boundedProperty } from './platform-side.ts';

export type System = SystemContext & CheckContext;

const declare = checks<SystemContext>();
type Declare = typeof declare;

/** Declares a check of one requirement. */
export const check: Declare = (requirement, options, run) =>
  declare(requirement, options, (t) => run({ ...t, property: boundedProperty(t, { randomMs: 30_000 }) }));

/** An effect travels from the platform to the device and back, which takes longer than one answer. */
const EFFECT_TIMEOUT_FACTOR = 4;

/** How long to wait for an effect on the other side, milliseconds. */
export const effectTimeoutMs = (t: System): number =>
  EFFECT_TIMEOUT_FACTOR * Math.max(t.platform.patienceMs, t.device.patienceMs);

/** `found` is what was waited for; `seen` is what there is instead. */
export type Look<T> = { found: T } | { seen: unknown };

/** Waits until `look` finds something. Fails the check, and shows what was seen last, if the time is up. */
export async function eventually<T>(t: System, expected: string, look: () => Promise<Look<T>>): Promise<T> {
  const timeoutMs = effectTimeoutMs(t);
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
  t.must(result !== undefined, { expected: `${expected}, within ${timeoutMs / 1000} s`, actual: seen });
  return result.found;
}
