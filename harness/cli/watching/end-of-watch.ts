/** End of a watch. */
import { setTimeout as sleep } from 'node:timers/promises';

/** A longer timer of Node would fire immediately. */
const LONGEST_MS = 2 ** 31 - 1;

/** Resolves after `lasts` milliseconds, or with the signal; without a time, with the signal only. */
export async function endOfWatch(
  signal: AbortSignal,
  lasts = Number.POSITIVE_INFINITY,
  longest = LONGEST_MS,
): Promise<void> {
  for (let left = lasts; left > 0 && !signal.aborted; left -= longest)
    await sleep(Math.min(left, longest), undefined, { signal }).catch(() => {});
}
