/** The folder of a fleet's files while it runs: in memory when there is room, so that a run does not measure the disk. */
import { accessSync, constants, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY_DISK = '/dev/shm';
/** Share of the free space that a fleet may fill. */
const USABLE = 0.5;

/** A folder for temporary files with room for `bytes`. A folder `named` by the caller is not checked. */
export function baseDirFor(bytes: number, named?: string): string {
  if (named !== undefined) return named;
  try {
    accessSync(MEMORY_DISK, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(MEMORY_DISK);
    if (bavail * bsize * USABLE >= bytes) return MEMORY_DISK;
  } catch {
    // Not Linux, or not writable.
  }
  return tmpdir();
}

/** Creates a folder for a fleet below `base`. Its path is short, because paths of Unix sockets are limited. */
export const createWorkdir = (base: string): string => mkdtempSync(join(base, 'muster-fleet-'));
