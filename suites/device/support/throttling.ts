/**
 * A device may limit how many requests it serves at once, or how often: the specification shows no limit. So a request that is
 * throttled (429 or 503) is sent again. `poll` does not fit, since the answer says how long to wait.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Device } from './device.ts';

/** Long enough for other checks to close the streams that may be in the way. */
const LONGEST_MS = 60_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

export const isThrottled = (status: number): boolean => status === 429 || status === 503;

interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
}

interface RetryOptions<A> {
  /**
   * Whether the cause may go away by itself, such as a stream of another check. Then the request is soon sent again, whatever
   * `Retry-After` says, since the device cannot know when that will be. Default: no.
   */
  mayClear?: () => boolean;
  /** Whether the check itself is the cause: then it is of no use to wait as long as `Retry-After` asks. Default: no. */
  ownDoing?: () => boolean;
  /** Gets every answer but the last. */
  discard?: (answer: A) => Promise<void>;
}

/**
 * Sends a request until its answer does not throttle, as long as the cause may clear or the device names a time to come back.
 * Gives the last answer, which may be a throttling one.
 */
export async function retryWhileThrottled<A extends Answer>(
  t: Device,
  send: () => Promise<A>,
  { mayClear = () => false, ownDoing = () => false, discard = async () => {} }: RetryOptions<A> = {},
): Promise<A> {
  const deadline = performance.now() + LONGEST_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const answer = await send();
    if (!isThrottled(answer.status)) return answer;
    const after = retryAfterMs(answer);
    const clears = mayClear();
    if (performance.now() >= deadline || (!clears && (after === undefined || ownDoing()))) return answer;
    await discard(answer);
    const wait = clears ? pause : (after ?? pause);
    await sleep(Math.min(wait, t.patienceMs), undefined, { signal: t.signal });
  }
}

function retryAfterMs({ headers }: Answer): number | undefined {
  const text = headers['retry-after'];
  const seconds = Number(text);
  return text === undefined || !Number.isFinite(seconds) ? undefined : Math.max(seconds * 1000, FIRST_PAUSE_MS);
}
