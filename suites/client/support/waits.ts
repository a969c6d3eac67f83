/** Decides whether a client waits as asked, even where this process is held up and sees the request late. */

import { TooLittleSeen } from '../../../harness/runner/violation.ts';
import type { ClientRun } from './client-run.ts';
import type { ClientRequest } from './server.ts';

/** Milliseconds of tolerance for clocks and timers. */
const TOLERANCE_MS = 150;
/** Maximum delay of this process for a verdict, as a share of the requested wait. */
const MOST_LATE = 1 / 4;
/** Maximum number of tries; a wait whose end this process saw late is tried again. */
const MOST_TRIES = 3;

export interface Wait {
  seconds: number;
  since: ClientRequest;
  back: ClientRequest;
  what: string;
}

/** Returns false if this process was too late to judge the wait. */
function isDecided(run: ClientRun, { seconds, since, back, what }: Wait): boolean {
  const mostMs = MOST_LATE * seconds * 1000;
  if (since.lateMs > mostMs) return false;
  const waitedMs = back.at - (since.endedAt ?? back.at);
  run.must(waitedMs >= seconds * 1000 - TOLERANCE_MS, {
    expected: `no request within ${seconds} s after ${what}`,
    actual: `the next one after ${(waitedMs / 1000).toFixed(2)} s`,
  });
  return back.lateMs <= mostMs;
}

/** Judges the waits that `ask` measures; throws TooLittleSeen if this process saw every wait too late. */
export async function expectWait(ask: () => Promise<(Wait & { run: ClientRun }) | undefined>): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const wait = await ask();
    if (wait === undefined || isDecided(wait.run, wait)) return;
  }
  throw new TooLittleSeen('this machine was too slow for it: Muster itself was held up when the client asked again');
}
