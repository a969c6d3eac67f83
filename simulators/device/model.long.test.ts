/** The model finds what is wrong with an agent. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { deviceDefect } from '../defects/device/index.ts';
import { referenceBehaviour } from './behaviour.ts';
import { modelProperty } from './testing/model.ts';

test.for([
  'replay-skips-first',
  'header-inclusive',
  'first-live-event-lost',
  'compaction-drops-newest',
  'ids-restart-at-one',
  'torn-line-glued',
  'log-emptied-at-restart',
  'log-never-compacted',
  'expired-is-live',
])('the model does not hold for an agent with the defect %s', async (name) => {
  const behaviour = deviceDefect(name).behaviour(referenceBehaviour);
  const property = modelProperty({ durability: 'os', behaviour }, undefined, 1_000);
  const { failed } = await fc.check(property, { numRuns: 60, endOnFailure: true });
  expect(failed).toBe(true);
});
