import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { heartbeat } from './subscriber.ts';

it('keeps its interval on a machine that is always late', async () => {
  const intervalMs = 64;
  let beats = 0;
  let turns = 0;
  const stop = heartbeat({ beat: () => (beats += 1) }, intervalMs);
  const start = performance.now();
  while (performance.now() - start < 10 * intervalMs) {
    const busyUntil = performance.now() + 40;
    while (performance.now() < busyUntil);
    await nextTurn();
    turns += 1;
  }
  stop();
  // A machine that is busy with other things gives fewer turns, and no turn has two beats.
  expect(beats).toBeGreaterThanOrEqual(Math.min(10, turns) - 2);
});
