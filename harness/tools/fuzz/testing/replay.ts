/** Defines a test that repeats all stored inputs on which a fuzzer once failed. */
import { expect, it } from 'vitest';
import { openAttack, readFinds } from '../engine.ts';
import { FUZZERS } from '../fuzzers.ts';

export function replayFinds({ slow }: { slow: boolean }): void {
  for (const fuzzer of FUZZERS.filter((one) => (one.slow ?? false) === slow)) {
    const finds = readFinds(fuzzer.name);
    if (finds.length === 0) continue;
    it(`stored inputs of earlier finds pass now: ${fuzzer.name}`, async () => {
      await using attacker = await openAttack(fuzzer);
      for (const { file, input } of finds) expect(await attacker.attack(input), file).toBeUndefined();
    });
  }
}
