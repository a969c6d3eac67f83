import { it } from 'vitest';
import { fuzz } from './fuzzer.ts';
import { FUZZERS } from './fuzzers.ts';

const SEED = Date.now() % 2 ** 31;

it.each(Object.entries(FUZZERS))('no input of half a minute shows a fault: %s', (_name, fuzzer) =>
  fuzz(fuzzer, 30_000, SEED),
);
