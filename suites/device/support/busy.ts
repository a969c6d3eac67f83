/** A device may serve so many at once, or so often, and no more: the specification shows no limit. Whoever is put off comes back. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Device } from './context.ts';

/** As long as streams of other checks, which end some time, may be what is in the way. */
const LONGEST_MS = 60_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

export const puttingOff = (status: number): boolean => status === 429 || status === 503;

interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
}

/**
 * Asks until the answer does not put off, for as long as the device says when to come back, or `mayPass` says that what is in
 * the way may go away: then it is asked again soon, since the device cannot know when that is. When `selfMade` says that the
 * asker itself is in the way, waiting is of no use, whatever the device says. Gives back the last answer, whatever it is;
 * `discard` gets the others.
 */
export async function persist<A extends Answer>(
  context: Device,
  ask: () => Promise<A>,
  mayPass: () => boolean,
  discard: (answer: A) => Promise<void> = async () => {},
  selfMade: () => boolean = () => false,
): Promise<A> {
  const deadline = performance.now() + LONGEST_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const answer = await ask();
    if (!puttingOff(answer.status)) return answer;
    const after = retryAfterMs(answer);
    const passing = mayPass();
    if (performance.now() >= deadline || (!passing && (after === undefined || selfMade()))) return answer;
    await discard(answer);
    const wait = passing ? pause : (after ?? pause);
    await sleep(Math.min(wait, context.patienceMs), undefined, { signal: context.signal });
  }
}

function retryAfterMs({ headers }: Answer): number | undefined {
  const text = headers['retry-after'];
  const seconds = Number(text);
  return text === undefined || !Number.isFinite(seconds) ? undefined : Math.max(seconds * 1000, FIRST_PAUSE_MS);
}
