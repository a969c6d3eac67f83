import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Redactor } from '../client/redact.ts';
import { boundedProperty } from './bounded-property.ts';
import { runProperty } from './property.ts';
import type { CheckContext } from './types.ts';
import { Blocked, Violation } from './violation.ts';

const property: CheckContext['property'] = (arbitrary, predicate, options) =>
  runProperty(arbitrary, predicate, { seed: 1, runs: 1, redactor: new Redactor(), onFound: () => {} }, options);

const violation = () => new Violation({ expected: 'less', actual: 'more' });

it('tries one input at least, and says how many it tried when the time is over', async () => {
  const tried: number[] = [];
  const said: number[][] = [];
  const onLeftOut = (...counts: number[]): void => void said.push(counts);
  const bounded = boundedProperty(property, { shrinkMs: 0, tryMs: () => -1, onLeftOut });
  await bounded(fc.nat(), async (value) => void tried.push(value), { runs: 20 });
  expect([tried.length, said]).toEqual([1, [[1, 20]]]);
});

it('tries exempt inputs in any case, and as many others as it is told to', async () => {
  const tried: number[] = [];
  const bounds = { shrinkMs: 0, tryMs: () => -1, least: 2, isExempt: (value: unknown) => value === 7 || value === 8 };
  const bounded = boundedProperty(property, bounds);
  const run = bounded(fc.nat(), async (value) => void tried.push(value), {
    runs: 20,
    examples: [[1], [7], [2], [3], [8]],
  });
  await run;
  expect(tried).toEqual([1, 7, 2, 8]);
});

it('reports the first counterexample where there is no time for a smaller one', async () => {
  const tried: number[] = [];
  const bounded = boundedProperty(property, { shrinkMs: -1 });
  const run = bounded(fc.integer({ min: 100, max: 1000 }), async (value) => {
    tried.push(value);
    throw violation();
  });
  await expect(run).rejects.toThrow(Violation);
  expect(tried).toHaveLength(1);
});

it('keeps a counterexample when a smaller one decides nothing', async () => {
  const bounded = boundedProperty(property, { shrinkMs: 60_000 });
  const run = bounded(fc.integer({ min: 0, max: 1000 }), async (value) => {
    if (value < 50) throw new Blocked('a rate limit');
    throw violation();
  });
  await expect(run).rejects.toMatchObject({ finding: { counterexample: '50' } });
});
