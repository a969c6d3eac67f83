/** Measures how late this machine and the target are, so that a loaded machine is not taken for a slow target. */
import type { Device } from './device.ts';
import { CURRENT } from './requests.ts';

export interface Slowness {
  /** Milliseconds that the worst timer or answer so far was late. */
  worst(): number;
  /** Resolves when both have been measured once more. */
  measured(): Promise<void>;
  stop(): void;
}

export function watchSlowness(t: Device, everyMs: number): Slowness {
  let worst = 0;
  let due = performance.now() + everyMs;
  let asking: { since: number; answered: Promise<void> } | undefined;
  const ask = async (since: number): Promise<void> => {
    await t.http.get(CURRENT, { timeoutMs: t.patienceMs }).catch(() => {});
    worst = Math.max(worst, performance.now() - since);
    asking = undefined;
  };
  const measure = (): void => {
    const now = performance.now();
    worst = Math.max(worst, now - due, asking === undefined ? 0 : now - asking.since);
    due = now + everyMs;
    asking ??= { since: now, answered: ask(now) };
  };
  const timer = setInterval(measure, everyMs);
  return {
    worst: () => worst,
    measured: async () => {
      measure();
      await asking?.answered;
    },
    stop: () => clearInterval(timer),
  };
}
