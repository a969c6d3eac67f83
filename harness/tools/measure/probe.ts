/**
 * Loaded into servers. With MUSTER_SOAK it tells their heap and what keeps them busy, in a file of that folder, every
 * MUSTER_SOAK_EVERY milliseconds; with MUSTER_WATCH it says so when something has changed a prototype that everything
 * inherits from.
 */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of the heap, and the number of timers and of all resources that keep this process busy. */
export function tell(): { heap: number; timers: number; resources: number } {
  const resources = process.getActiveResourcesInfo();
  const timers = resources.filter((name) => name === 'Timeout' || name === 'Immediate').length;
  return { heap: process.memoryUsage().heapUsed, timers, resources: resources.length };
}

/** What this process cannot let go of: bytes of the heap and of buffers outside of it, right after a full collection. */
function held(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const EVERY_MS = Number(process.env['MUSTER_SOAK_EVERY'] ?? 4_000);
/** A collection stops the process for some 30 ms, so it is made at every tenth telling. */
const COLLECT_EVERY = 10;
const folder = process.env['MUSTER_SOAK'];
if (folder !== undefined) {
  const file = join(folder, `${process.pid}.json`);
  let told = 0;
  let live: number | undefined;
  setInterval(() => {
    if (told % COLLECT_EVERY === 0) live = held();
    told += 1;
    const text = JSON.stringify({ ...tell(), held: live });
    try {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    } catch {
      // The soak is over, and its folder gone.
    }
  }, EVERY_MS).unref();
  process.once('exit', () => rmSync(file, { force: true }));
}

const WATCH_EVERY_MS = 20;
if (process.env['MUSTER_WATCH'] !== undefined) {
  const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype, Number.prototype];
  const names = (): string => prototypes.map((each) => Reflect.ownKeys(each).map(String).join()).join(';');
  const before = names();
  const timer = setInterval(() => {
    const seen = names();
    if (seen === before) return;
    process.stderr.write(`prototypes are polluted: ${seen.slice(-100)}\n`);
    clearInterval(timer);
  }, WATCH_EVERY_MS).unref();
}
