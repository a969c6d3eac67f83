/** Waiting in a check: a timeout is something that the check reports, not an error of the harness. */
import { type PollOptions, PollTimeout, poll } from '../harness/common/poll.ts';

/** Like `poll`, but yields undefined when the time is up, so that the caller can say what it saw last. */
export async function pollWithin<T>(
  what: string,
  look: () => Promise<T | undefined>,
  options: Omit<PollOptions, 'timeoutError'>,
): Promise<T | undefined> {
  try {
    return await poll(what, look, options);
  } catch (error) {
    if (error instanceof PollTimeout) return undefined;
    throw error;
  }
}
