/** Where robots keep their files while a fleet runs: in memory when there is room, because a disk would be what is measured. */
import { accessSync, constants, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY_DISK = '/dev/shm';
/** Room left for everybody else. */
const USABLE = 0.5;

/** Folder for temporary files with room for `bytes`. A folder that was named explicitly is taken whatever its room. */
export function roomFor(bytes: number, named?: string): string {
  if (named !== undefined) return named;
  try {
    accessSync(MEMORY_DISK, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(MEMORY_DISK);
    if (bavail * bsize * USABLE >= bytes) return MEMORY_DISK;
  } catch {
    // Not Linux, or not for us.
  }
  return tmpdir();
}

/** A folder of the fleet's own; its path is short, because those of the sockets in it are limited. */
export const makePlace = (base: string): string => mkdtempSync(join(base, 'muster-fleet-'));
