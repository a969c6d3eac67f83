/** Memory limit of this process's control group (cgroup v2). */

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { memoryText } from '../../../harness/common/sizes.ts';

const ROOT = '/sys/fs/cgroup';

export interface MemoryLimit {
  limitBytes: number;
  /** Bytes still available; file cache that the kernel can reclaim counts as free. */
  freeBytes: number;
  /** Processes killed by the kernel at this limit; undefined if not reported. */
  kills: number | undefined;
}

/** Tightest memory limit of this process; undefined without one. `root`, `own`: replace the system's files. */
export function memoryLimit(root = ROOT, own = readText('/proc/self/cgroup') ?? ''): MemoryLimit | undefined {
  return foldersOf(root, own)
    .flatMap((folder) => memoryIn(folder) ?? [])
    .sort((a, b) => a.freeBytes - b.freeBytes)[0];
}

/**
 * Folders of this process's group and its parents, each of which limits it. In a container the path may be the host's:
 * then only the top of the mount exists, and is the container's own group.
 */
function foldersOf(root: string, own: string): string[] {
  const path = /^0::(.*)$/m.exec(own)?.[1] ?? '/';
  const folders = [join(root, path)];
  for (let at = path; at !== '/' && at !== '.'; at = dirname(at)) folders.push(join(root, dirname(at)));
  return folders;
}

function memoryIn(folder: string): MemoryLimit | undefined {
  const limitBytes = readNumber(join(folder, 'memory.max'));
  const usedBytes = readNumber(join(folder, 'memory.current'));
  if (limitBytes === undefined || usedBytes === undefined) return undefined;
  const free = limitBytes - usedBytes + (fieldOf(join(folder, 'memory.stat'), 'inactive_file') ?? 0);
  const freeBytes = Math.min(limitBytes, Math.max(0, free));
  return { limitBytes, freeBytes, kills: fieldOf(join(folder, 'memory.events'), 'oom_kill') };
}

function fieldOf(file: string, name: string): number | undefined {
  const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(readText(file) ?? '')?.[1];
  return found === undefined ? undefined : Number(found);
}

function readNumber(file: string): number | undefined {
  const text = readText(file)?.trim() ?? '';
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Detects kills by the kernel at the memory limit since construction. */
export class MemoryKills {
  readonly #look: () => MemoryLimit | undefined;
  readonly #before: number;

  constructor(look: () => MemoryLimit | undefined = memoryLimit) {
    this.#look = look;
    this.#before = look()?.kills ?? 0;
  }

  /** Likely cause of a SIGKILL, to append to a message; empty unless it was the memory limit. */
  get cause(): string {
    const limit = this.#look();
    if (limit === undefined || (limit.kills ?? 0) <= this.#before) return '';
    return `; likely cause: the memory limit of this container (cgroup), ${memoryText(limit.limitBytes)}`;
  }
}
