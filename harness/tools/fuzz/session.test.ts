import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { fuzzer, readFinds, runSession, writeFind } from './engine.ts';

/** Fuzzer whose subject fails for numbers of 100 or more, and throws for numbers that end with 7. */
function brittle() {
  const opened = { subjects: 0, closed: 0 };
  const it = fuzzer<number>({
    name: 'brittle',
    about: '',
    inputs: fc.nat(1_000),
    open: async () => {
      opened.subjects += 1;
      return {
        attack: (input) => {
          if (input % 10 === 7) throw new Error(`died of ${input}`);
          if (input === 1_000) return 'the largest';
          return input >= 100 ? `too large by ${input - 100}` : undefined;
        },
        [Symbol.asyncDispose]: async () => {
          opened.closed += 1;
        },
      };
    },
  });
  return { it, opened };
}

it('a session shrinks each kind of find once, and counts the rest', async () => {
  const { it: subject, opened } = brittle();
  const finds: { wrong: string; input: unknown }[] = [];
  const { tried, repeated: again } = await runSession(subject, {
    seed: 1,
    ms: 60_000,
    finds: 3,
    onFind: (find) => finds.push(find),
  });
  expect(finds.toSorted((a, b) => Number(a.input) - Number(b.input))).toEqual([
    { wrong: 'the attack ended with Error: died of 7', input: 7 },
    { wrong: 'too large by 0', input: 100 },
    { wrong: 'the largest', input: 1_000 },
  ]);
  expect(again).toBeGreaterThan(0);
  expect(tried).toBeGreaterThan(again);
  expect(opened.closed).toBe(opened.subjects);
});

it('a session writes its current input to a file, and a find to another', async () => {
  using folder = scratch();
  const current = join(folder.path, 'current.json');
  const { it: subject } = brittle();
  await runSession(subject, { seed: 2, ms: 60_000, finds: 1, inputFd: openSync(current, 'w+'), onFind: () => {} });
  expect(JSON.parse(readFileSync(current, 'utf8'))).toBeTypeOf('number');
  const file = writeFind({ fuzzer: 'brittle', wrong: 'too large', input: 100 }, folder.path);
  expect(readFileSync(file, 'utf8')).toContain('100');
  expect(readFinds('brittle', folder.path)).toMatchObject([{ wrong: 'too large', input: 100 }]);
  expect(readFinds('another', folder.path)).toEqual([]);
});
