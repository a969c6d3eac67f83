/** What the files of this suite share: the type of what a check is given, the platform half of it, and waiting for an effect. */
import { setTimeout as sleep } from 'node:timers/promises';
import { checks } from '../../../harness/runner/define.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';
import type { SystemContext } from '../../../harness/targets/contexts.ts';
import type { Platform } from '../../platform/support/platform.ts';
import { bounded } from '../../platform/support/shrinking.ts';

export type System = SystemContext & CheckContext;

const declare = checks<SystemContext>();
type Declare = typeof declare;

export const check: Declare = (holds, options, run) =>
  declare(holds, options, (t) => run({ ...t, property: bounded(t.property) }));

/** The platform, for what the platform suite has to read and create. */
export function platformOf(t: System): Platform {
  const { http, versionHeader, apiVersion, apiKey, limitedKey, capabilities } = t.platform;
  const { onlineDevice, offlineDevice, readOnly, patienceMs } = t.platform;
  const { must, should, note, notApplicable, blocked, property, seed, signal, runs, replayPath } = t;
  return {
    ...{ http, versionHeader, apiVersion, apiKey, limitedKey, capabilities },
    ...{ onlineDevice, offlineDevice, readOnly, patienceMs },
    ...{ must, should, note, notApplicable, blocked, property, seed, signal, runs, replayPath },
  };
}

/** News travels from platform to device and back, over whatever lies between: longer than an answer takes. */
export const travelMs = (t: System): number => 4 * Math.max(t.platform.patienceMs, t.device.patienceMs);

/** Looks again and again until `look` finds something; fails the check, with what was seen last, when it does not in time. */
export async function eventually<T>(
  t: System,
  expected: string,
  look: () => Promise<{ found: T } | { seen: unknown }>,
): Promise<T> {
  const deadline = performance.now() + travelMs(t);
  for (let pause = 25; ; pause = Math.min(pause * 1.5, 1000)) {
    const now = await look();
    if ('found' in now) return now.found;
    t.must(performance.now() < deadline, {
      expected: `${expected}, within ${travelMs(t) / 1000} s`,
      actual: now.seen,
    });
    await sleep(pause, undefined, { signal: t.signal });
  }
}
