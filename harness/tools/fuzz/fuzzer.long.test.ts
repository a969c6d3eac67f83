import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Fuzzer, type FuzzSubject, fuzz, repeatFinds, storedFuzzers } from './fuzzer.ts';
import { FUZZERS } from './testing/fuzzers.ts';

it('stored finds belong to existing fuzzers', () => {
  expect(storedFuzzers().filter((name) => FUZZERS[name] === undefined)).toEqual([]);
});

it.each(storedFuzzers())('stored inputs of earlier finds pass now: %s', (name) =>
  repeatFinds(name, FUZZERS[name] as Fuzzer<unknown>),
);

function counted(attack: FuzzSubject<number>['attack']) {
  const subjects = { opened: 0, closed: 0 };
  const open = async (): Promise<FuzzSubject<number>> => {
    subjects.opened += 1;
    return {
      attack,
      [Symbol.asyncDispose]: async () => {
        subjects.closed += 1;
      },
    };
  };
  return { subjects, fuzzer: { inputs: fc.nat(1000), open } satisfies Fuzzer<number> };
}

it('a fuzzer names the smallest input that shows a fault, and replaces the harmed subject', async () => {
  const { subjects, fuzzer } = counted((input) => {
    if (input >= 100) throw new Error('it died');
    return undefined;
  });
  await expect(fuzz(fuzzer, 60_000, 1)).rejects.toThrow(/died\nseed 1, [^{]*\{"wrong":".*died","input":100\}/);
  expect(subjects.opened).toBeGreaterThan(1);
  expect(subjects.closed).toBe(subjects.opened);
});

it('a fault of the last attack, which ends after the time limit, is found and reduced', async () => {
  let isFirst = true;
  const { subjects, fuzzer } = counted(async () => {
    if (isFirst) await sleep(1_100);
    isFirst = false;
    return 'it died';
  });
  await expect(fuzz(fuzzer, 1_000, 1)).rejects.toThrow(/"input":0\}/);
  expect(subjects.closed).toBe(subjects.opened);
});

it('a fuzzer without a fault ends after its time, between two attacks', async () => {
  const attacks = { begun: 0, ended: 0 };
  const { subjects, fuzzer } = counted(async () => {
    attacks.begun += 1;
    await sleep(30);
    attacks.ended += 1;
    return undefined;
  });
  await fuzz(fuzzer, 200, 1);
  expect(attacks.begun).toBeGreaterThan(0);
  expect(attacks.ended).toBe(attacks.begun);
  expect(subjects).toEqual({ opened: 1, closed: 1 });
});
