/** The files of a host. */
import { rmdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { HostConfig } from './host.ts';

/** Removes them, and the folders above that are empty then. The last host of a fleet so removes the fleet's folder. */
export function removeFilesOf({ robotsDir, socketsDir, keep }: HostConfig): void {
  for (const own of keep ? [socketsDir] : [robotsDir, socketsDir]) {
    rmSync(own, { recursive: true, force: true, maxRetries: 3 });
    for (const above of [dirname(own), dirname(dirname(own))]) removeIfEmpty(above);
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Another host still has files there, or has already removed it.
  }
}
