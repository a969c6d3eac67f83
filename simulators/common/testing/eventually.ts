import { vi } from 'vitest';

/** Waits until `holds` does not throw. The timeout only ends what hangs: a busy machine may need most of it. */
export function eventually<T>(holds: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(holds, { timeout: 60_000, interval: 5 });
}
