/** Waits for what a test expects to come true. For tests only. */
import { vi } from 'vitest';

/** Resolves once `holds` does not throw. The time limit only ends what hangs: a busy machine may need most of it. */
export function eventually<T>(holds: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(holds, { timeout: 60_000, interval: 5 });
}
