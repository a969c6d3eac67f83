/** Many races of readers and compactions. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { connectDuringCompaction, raceProperty } from './testing/race.ts';

test('in any order of appends, compactions, disk and slow readers, no client misses an event without knowing', async () => {
  await fc.assert(raceProperty(), { numRuns: 100 });
});

test.for(['os', 'sync'] as const)('clients that connect during a compaction miss nothing, %s', async (durability) => {
  expect(await connectDuringCompaction(durability, 30)).toBeGreaterThan(30);
});
