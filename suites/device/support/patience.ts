/** Waiting for something that should happen soon, by looking again and again. */
import type { Device } from './context.ts';

/** Looks until `ready` gives something, for as long as patience lasts; undefined when it never did. */
export async function eventually<T>(
  context: Device,
  ready: () => Promise<T | undefined> | T | undefined,
): Promise<T | undefined> {
  const deadline = performance.now() + context.patienceMs;
  for (let pause = 5; ; pause = Math.min(pause * 2, 100)) {
    const late = performance.now() >= deadline;
    const found = await ready();
    if (found !== undefined || late) return found;
    context.signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
