import { expect, test } from 'vitest';
import { TooLittleSeen } from '../../../harness/runner/violation.ts';
import type { ClientRun } from './client-run.ts';
import type { ClientRequest } from './server.ts';
import { expectWait } from './waits.ts';

/**
 * Returns the number of tries and the outcome for a client that must wait 4 s, and that returns after each of `waits`.
 */
async function outcomeOf(
  waits: readonly (readonly [afterMs: number, lateMs: number, answeredLateMs?: number] | undefined)[],
) {
  let asked = 0;
  const must = (holds: unknown, { actual }: { actual: string }): void => {
    if (!holds) throw new Error(actual);
  };
  const run = { must } as unknown as ClientRun;
  const ended = await expectWait(async () => {
    const wait = waits[asked++];
    if (wait === undefined) return undefined;
    const [at, lateMs, answeredLateMs = 0] = wait;
    return {
      run,
      seconds: 4,
      what: '503',
      since: { endedAt: 0, lateMs: answeredLateMs } as ClientRequest,
      back: { at, lateMs } as ClientRequest,
    };
  }).catch((error: unknown) => error);
  return [asked, ended instanceof TooLittleSeen ? 'undecided' : ended instanceof Error ? ended.message : ended];
}

test.each([
  ['waits', [[4010, 0]], [1, undefined]],
  ['comes too early', [[1000, 0]], [1, 'the next one after 1.00 s']],
  ['comes too early, and is seen late', [[1500, 900]], [1, 'the next one after 1.50 s']],
  [
    'may have come too early',
    [
      [4200, 3000],
      [300, 0],
    ],
    [2, 'the next one after 0.30 s'],
  ],
  [
    'waits, and was seen late at first',
    [
      [4200, 3000],
      [4010, 100],
    ],
    [2, undefined],
  ],
  [
    'is always seen late',
    [
      [4200, 3000],
      [9000, 5000],
      [4200, 1500],
    ],
    [3, 'undecided'],
  ],
  [
    'may have given up before it was answered',
    [
      [10, 0, 20_000],
      [4010, 0],
    ],
    [2, undefined],
  ],
  ['does not come back', [undefined], [1, undefined]],
] as const)('one that %s', async (_, waits, expected) => {
  expect(await outcomeOf(waits)).toEqual(expected);
});
