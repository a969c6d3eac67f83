/** The process of one fuzzer: `worker.ts NAME SEED MILLISECONDS FILE`. It reports to its parent. */
import { openSync } from 'node:fs';
import process from 'node:process';
import { FUZZERS } from './fuzzers/index.ts';
import type { WorkerMessage } from './process.ts';
import { session } from './session.ts';

const EVERY_MS = 1_000;
const [name, seed, ms, file = ''] = process.argv.slice(2);
const fuzzer = FUZZERS.find((one) => one.name === name);
if (fuzzer === undefined) throw new Error(`no fuzzer is called ${name}`);

const tell = (message: WorkerMessage): Promise<void> =>
  new Promise((resolve) => process.send?.(message, () => resolve()));
let told = 0;
const result = await session(fuzzer, {
  seed: Number(seed),
  ms: Number(ms),
  currentFd: openSync(file, 'w+'),
  onTried: (tried) => {
    if (performance.now() - told < EVERY_MS) return;
    told = performance.now();
    void tell({ tried, again: 0 });
  },
  onFind: (find) => void tell({ find }),
});
await tell(result);
process.disconnect?.();
