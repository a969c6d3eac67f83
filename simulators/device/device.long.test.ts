/** What the normal run of the device's tests has samples of, many times over: kills, takeovers of locks, races, and the model. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { connectDuringCompaction, raceProperty } from './log/testing/race.ts';
import { killLoop } from './testing/kill-loop.ts';
import { contest } from './testing/lock-contest.ts';
import { modelProperty } from './testing/model.ts';

test('an agent that is killed under load loses and renumbers no event that a client saw', async () => {
  const { problems, kills, seen, acknowledged } = await killLoop({ rounds: 20, seed: 1 });
  expect(problems).toEqual([]);
  expect(kills).toBe(20);
  expect(seen).toBeGreaterThan(100);
  expect(acknowledged).toBeGreaterThan(100);
});

test('of many processes that find a dead owner, one takes its place', async () => {
  expect(await contest({ processes: 4, rounds: 200, killEvery: 20 })).toEqual([]);
});

test.for([
  { durability: 'os', numRuns: 200, atLeast: 2_000 },
  { durability: 'sync', numRuns: 60, atLeast: 600 },
] as const)('the model holds with durability $durability', async ({ durability, numRuns, atLeast }) => {
  let commands = 0;
  const property = modelProperty({ durability }, () => {
    commands += 1;
  });
  await fc.assert(property, { numRuns });
  expect(commands).toBeGreaterThan(atLeast);
});

test('in any order of appends, compactions, disk and slow readers, no client misses an event without knowing', async () => {
  await fc.assert(raceProperty(), { numRuns: 100 });
});

test.for(['os', 'sync'] as const)('clients that connect during a compaction miss nothing, %s', async (durability) => {
  expect(await connectDuringCompaction(durability, 30)).toBeGreaterThan(30);
});
