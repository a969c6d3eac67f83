/** The model of `model.test.ts` over thousands of commands. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { modelProperty } from './testing/model.ts';

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
