/** Decides whether a client waits as asked, even where this process is held up and sees its request late. */

import { TooLittleSeen } from '../../../harness/runner/violation.ts';
import type { ClientRun } from './client-run.ts';
import type { ClientRequest } from './server.ts';

/** Tolerance for clocks and timers, milliseconds. */
const TOLERANCE_MS = 150;
/** Share of the requested wait by which a request may be seen late. */
const MOST_LATE = 1 / 4;
/** Number of tries, because a wait whose end was seen late decides nothing. */
const MOST_TRIES = 3;

export interface Wait {
  seconds: number;
  /** The request that was refused, or the stream that ended. */
  since: ClientRequest;
  back: ClientRequest;
  what: string;
}

/** Fails a client that came too early. False where it may have acted long before this process saw or answered it. */
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

/** Asks a client to wait, again where this process was held up. `ask` gives nothing for a client that stays away. */
export async function expectWait(ask: () => Promise<(Wait & { run: ClientRun }) | undefined>): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const wait = await ask();
    if (wait === undefined || isDecided(wait.run, wait)) return;
  }
  throw new TooLittleSeen('this machine was too slow for it: Muster itself was held up when the client asked again');
}
