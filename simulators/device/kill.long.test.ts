/** Many kills of a real agent process; the normal run has a few. */
import { expect, test } from 'vitest';
import { killLoop } from './testing/kill-loop.ts';

test('an agent that is killed under load loses and renumbers no event that anyone saw', async () => {
  const { problems, kills, seen, acknowledged } = await killLoop({ rounds: 20, seed: 1 });
  expect(problems).toEqual([]);
  expect(kills).toBe(20);
  expect(seen).toBeGreaterThan(100);
  expect(acknowledged).toBeGreaterThan(100);
});
