import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { FIXTURES } from './engine.ts';
import { FUZZERS } from './fuzzers.ts';
import { replayFinds } from './testing/replay.ts';

it('stored finds belong to existing fuzzers', () => {
  const names = FUZZERS.map(({ name }) => name);
  expect(readdirSync(FIXTURES).filter((name) => !names.includes(name))).toEqual([]);
});

replayFinds({ slow: false });
