import { it } from 'vitest';
import { fuzz } from './fuzzer.ts';
import { FUZZERS } from './testing/fuzzers.ts';

const SEED = Date.now() % 2 ** 31;

// The title has the seed, because an input that blocks or ends the process leaves no message.
it.each(Object.entries(FUZZERS))(`no input of half a minute shows a fault, seed ${SEED}: %s`, (_name, fuzzer) =>
  fuzz(fuzzer, 30_000, SEED),
);
