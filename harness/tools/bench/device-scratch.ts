import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../simulators/common/clock.ts';
import { referenceBehaviour } from '../../../simulators/device/behaviour.ts';
import { EventLog } from '../../../simulators/device/log/event-log.ts';
import { disk } from '../../../simulators/device/log/io.ts';

/** Runs `use` with a directory of its own, which is removed afterwards. */
export async function inScratch<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-bench-'));
  try {
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The middle one of some measurements. */
export const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** A log that stores on the disk before it says so. Throws what it would only have noted. */
export function eventLog(directory: string, retain: number): EventLog {
  return new EventLog({
    directory,
    retain,
    retainBytes: Number.MAX_SAFE_INTEGER,
    durable: true,
    io: disk,
    clock: systemClock,
    behaviour: referenceBehaviour,
    onStored: () => {},
    onNotice: (notice) => {
      throw new Error(notice);
    },
  });
}
