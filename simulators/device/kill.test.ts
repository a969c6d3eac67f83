import { expect, test } from 'vitest';
import { killLoop } from './testing/kill-loop.ts';

test('an agent that is killed under load loses and renumbers no event that anyone saw', async () => {
  const { problems, kills, seen, acknowledged } = await killLoop({ rounds: 4, seed: 1 });
  expect(problems).toEqual([]);
  expect(kills).toBe(4);
  expect(seen).toBeGreaterThan(20);
  expect(acknowledged).toBeGreaterThan(20);
});
