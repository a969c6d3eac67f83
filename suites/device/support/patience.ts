/** How long a check waits for what should happen soon. */
import type { Device } from './context.ts';

const disappointed = new WeakSet<AbortSignal>();
const SHARE_ONCE_DISAPPOINTED = 0.1;

/**
 * Milliseconds. Once a check has waited in vain it has failed; what it still tries only makes the counterexample smaller, and
 * need not take minutes.
 */
export const patience = (context: Device): number =>
  disappointed.has(context.signal) ? context.patienceMs * SHARE_ONCE_DISAPPOINTED : context.patienceMs;

export function waitedInVain(context: Device): void {
  disappointed.add(context.signal);
}

/** Looks again and again until `ready` gives something, for as long as patience lasts; undefined when it never did. */
export async function eventually<T>(
  context: Device,
  ready: () => Promise<T | undefined> | T | undefined,
): Promise<T | undefined> {
  const deadline = performance.now() + patience(context);
  for (let pause = 5; ; pause = Math.min(pause * 2, 100)) {
    const late = performance.now() >= deadline;
    const found = await ready();
    if (found !== undefined) return found;
    if (late) {
      waitedInVain(context);
      return undefined;
    }
    context.signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
