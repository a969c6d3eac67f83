/** A request that waits for its answer, and for how long it does. */
import type { OutOfPatience, Patience } from '../common/patience.ts';
import { NoAnswerInTime, Unfinished, Unreachable } from './errors.ts';
import type { Recorded } from './recorder.ts';

/** A whole answer may take that many times as long as its head. */
export const LONGEST_ANSWER = 6;

/** A request on its way. */
export interface Pending {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Buffer | undefined;
  timeoutMs: number;
  recorded: Recorded;
  /** Milliseconds of `performance.now()`. */
  started: number;
  patience: Patience;
  /** Aborts when the time is up, with the bound that has passed. */
  over: AbortController;
  /** What was last waited for. */
  stage: 'connecting' | 'head' | 'body';
  /** Ends the watch over the time. */
  stop(): void;
}

/** Why a request was given up: before it had a connection the target has done nothing wrong, and slow is not wrong either. */
export function timedOut(what: string, stage: Pending['stage'], why: OutOfPatience, timeoutMs: number): Error {
  if (stage === 'connecting') return new Unreachable(`${what}: no connection within ${timeoutMs} ms`);
  if (stage === 'head') return new NoAnswerInTime(`${what}: no answer within ${timeoutMs} ms`);
  if (why === 'silent')
    return new NoAnswerInTime(`${what}: the answer stopped: nothing more of it for ${timeoutMs} ms`);
  return new Unfinished(`${what}: the answer still came after ${(LONGEST_ANSWER * timeoutMs) / 1000} s`);
}

/** The same promise, but rejected at once when the signal aborts: undici waits for the connection before it looks at the signal. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
