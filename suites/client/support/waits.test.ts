import { expect, test } from 'vitest';
import { TooLittleSeen } from '../../../harness/runner/violation.ts';
import { type ClientRun, expectWait } from './client-run.ts';
import type { ClientRequest } from './server.ts';

interface Wait {
  at: number;
  late?: number;
  /** Delay in milliseconds with which the refused request was seen. */
  answered?: number;
}

const PATIENT = { at: 4010, late: 100 };
const UNCLEAR = { at: 4200, late: 3000 };

test.each<[string, (Wait | undefined)[], [number, string | undefined]]>([
  ['waits', [{ at: 4010 }], [1, undefined]],
  ['comes too early', [{ at: 1000 }], [1, 'the next one after 1.00 s']],
  ['comes too early, and is seen late', [{ at: 1500, late: 900 }], [1, 'the next one after 1.50 s']],
  ['may have come too early', [UNCLEAR, { at: 300 }], [2, 'the next one after 0.30 s']],
  ['waits, and was seen late at first', [UNCLEAR, PATIENT], [2, undefined]],
  ['is always seen late', [UNCLEAR, { at: 9000, late: 5000 }, { at: 4200, late: 1500 }], [3, 'undecided']],
  ['may have given up before it was answered', [{ at: 10, answered: 20_000 }, PATIENT], [2, undefined]],
  ['does not come back', [undefined], [1, undefined]],
])('a client that must wait 4 s, and %s', async (_, waits, [tries, outcome]) => {
  let asked = 0;
  const must = (holds: unknown, { actual }: { actual: string }): void => {
    if (!holds) throw new Error(actual);
  };
  const run = { must } as unknown as ClientRun;
  const ended = await expectWait(async () => {
    const wait = waits[asked++];
    if (wait === undefined) return undefined;
    const { at, late = 0, answered = 0 } = wait;
    return {
      run,
      seconds: 4,
      what: '503',
      since: { endedAt: 0, lateMs: answered } as ClientRequest,
      back: { at, lateMs: late } as ClientRequest,
    };
  }).catch((error: unknown) => error);
  expect(asked).toBe(tries);
  expect(ended instanceof TooLittleSeen ? 'undecided' : ended instanceof Error ? ended.message : ended).toBe(outcome);
});
