/**
 * Whatever is done to an agent, in any order: no event is lost, repeated, reordered or renumbered. A sample; the rest
 * runs long.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { modelProperty } from './testing/model.ts';

test.for(['os', 'sync'] as const)('the model holds with durability %s', async (durability) => {
  let commands = 0;
  const property = modelProperty({ durability }, () => {
    commands += 1;
  });
  await fc.assert(property, { numRuns: 15 });
  expect(commands).toBeGreaterThan(100);
});
