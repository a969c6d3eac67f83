/** When a watch is over. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Node waits no longer at once; a longer timer would fire immediately. */
const LONGEST_MS = 2 ** 31 - 1;

/** Resolves when `lasts` milliseconds are over, or with the signal; without a time, with the signal alone. */
export async function over(signal: AbortSignal, lasts = Number.POSITIVE_INFINITY, longest = LONGEST_MS): Promise<void> {
  for (let left = lasts; left > 0 && !signal.aborted; left -= longest)
    await sleep(Math.min(left, longest), undefined, { signal }).catch(() => {});
}
