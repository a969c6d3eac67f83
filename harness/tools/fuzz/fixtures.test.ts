import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FIXTURES, kept } from './finds.ts';
import { FUZZERS } from './fuzzers/index.ts';
import { Attacker } from './session.ts';

describe('what fuzzers have found', () => {
  it('is attacked with by a fuzzer that still exists', () => {
    const names = FUZZERS.map(({ name }) => name);
    expect(readdirSync(FIXTURES).filter((name) => !names.includes(name))).toEqual([]);
  });

  for (const fuzzer of FUZZERS) {
    const finds = kept(fuzzer.name);
    if (finds.length === 0) continue;
    it(`holds now: ${fuzzer.name}`, async () => {
      await using attacker = await Attacker.of(fuzzer);
      for (const { file, input } of finds) expect(await attacker.attack(input), file).toBeUndefined();
    });
  }
});
