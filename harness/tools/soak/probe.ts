/** Loaded into every process of a soak: tells its heap and what keeps it busy, in a file of the folder in MUSTER_SOAK. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

/** Bytes of the heap, and the number of timers and of all resources that keep this process busy. */
export function tell(): { heap: number; timers: number; resources: number } {
  const resources = process.getActiveResourcesInfo();
  const timers = resources.filter((name) => name === 'Timeout' || name === 'Immediate').length;
  return { heap: process.memoryUsage().heapUsed, timers, resources: resources.length };
}

const EVERY_MS = 4_000;
const folder = process.env['MUSTER_SOAK'];
if (folder !== undefined) {
  const file = join(folder, `${process.pid}.json`);
  setInterval(() => {
    const text = JSON.stringify(tell());
    try {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    } catch {
      // The soak is over, and its folder gone.
    }
  }, EVERY_MS).unref();
  process.once('exit', () => rmSync(file, { force: true }));
}
