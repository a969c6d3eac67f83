/**
 * Calls that prepare a run are sent again while the platform is busy: no figure depends on them, and without them the whole run would be
 * lost. What a scenario measures is never sent again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../../harness/common/waiting.ts';
import { isPassing, isPermanent, PlatformFailure } from './failure.ts';

/** Jitter, so that shards that were refused together do not come back together. */
const BACKOFF = { firstMs: 250, longestMs: 8000, jitter: 0.5 };
/** For one call with all its attempts. */
const LIMIT_MS = 60_000;

export interface SetUpOptions {
  /** Ends the wait; the call then rejects with its reason. */
  signal: AbortSignal;
  /** Milliseconds for all attempts. Default 60 000. */
  limitMs?: number;
  random?: () => number;
}

/**
 * Sends until the platform takes it. `send` gets the number of the attempt, from 0. Rejects with the PlatformFailure of the last
 * attempt: at once for one that stays, and when the next attempt would come after the limit.
 */
export async function sendUntilTaken<T>(
  send: (attempt: number) => Promise<T>,
  { signal, limitMs = LIMIT_MS, random = Math.random }: SetUpOptions,
): Promise<T> {
  const began = performance.now();
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await send(attempt);
    } catch (error) {
      if (!(error instanceof PlatformFailure) || !isPassing(error.status) || isPermanent(error)) throw error;
      const pause = backoffMs(BACKOFF, attempt, random) + Math.max(0, error.retryAfterMs ?? 0);
      if (performance.now() - began + pause > limitMs) throw gaveUp(error, attempt + 1, limitMs);
      await sleep(pause, undefined, { signal }).catch(() => {});
      signal.throwIfAborted();
    }
  }
}

function gaveUp(error: PlatformFailure, attempts: number, limitMs: number): PlatformFailure {
  const { status, message, retryAfterMs = 0 } = error;
  const asked = retryAfterMs > 0 ? `, and it asks to wait ${Math.ceil(retryAfterMs / 1000)} s` : '';
  const words = `${message}; sent ${attempts === 1 ? 'once' : `${attempts} times`} within ${limitMs / 1000} s${asked}`;
  return new PlatformFailure(status, words, { cause: error, retryAfterMs });
}
