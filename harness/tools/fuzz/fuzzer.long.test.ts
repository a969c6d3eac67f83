import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Fuzzer, fuzz, repeatFinds, storedFuzzers } from './fuzzer.ts';
import { FUZZERS } from './fuzzers.ts';

it('stored finds belong to existing fuzzers', () => {
  expect(storedFuzzers().filter((name) => FUZZERS[name] === undefined)).toEqual([]);
});

it.each(storedFuzzers())('stored inputs of earlier finds pass now: %s', (name) =>
  repeatFinds(name, FUZZERS[name] as Fuzzer<unknown>),
);

it('a fuzzer names the smallest input that shows a fault, and replaces the harmed subject', async () => {
  const subjects = { opened: 0, closed: 0 };
  const brittle: Fuzzer<number> = {
    inputs: fc.nat(1000),
    open: async () => {
      subjects.opened += 1;
      return {
        attack: (input) => {
          if (input >= 100) throw new Error('it died');
          return undefined;
        },
        [Symbol.asyncDispose]: async () => {
          subjects.closed += 1;
        },
      };
    },
  };
  await expect(fuzz(brittle, 60_000, 1)).rejects.toThrow(/died\nseed 1, [^{]*\{"wrong":".*died","input":100\}/);
  expect(subjects.opened).toBeGreaterThan(1);
  expect(subjects.closed).toBe(subjects.opened);
});
