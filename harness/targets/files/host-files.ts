/**
 * The files of an agent on this machine. Synchronous inside, so that little happens between an event and the look at what it
 * announces.
 */
import { closeSync, constants, openSync, readdirSync, readFileSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import {
  type FileEntry,
  type FileInfo,
  FilesUnreadable,
  isAbsent,
  isForbidden,
  type TargetFiles,
} from './target-files.ts';

/** Reads this machine's own file system. */
export const hostFiles: TargetFiles = {
  stat: async (path) => attempt(path, () => infoOf(path)),
  read: async (path) => attempt(path, () => (infoOf(path).kind === 'file' ? readFileSync(path) : undefined)),
  list: async (folder, { deep = false } = {}) => entriesOf(folder, deep),
  append: async (path, bytes) => {
    const done = attempt(path, () => append(path, bytes));
    if (done === undefined) throw new FilesUnreadable(`there is no file ${path} to write to`);
  },
};

function infoOf(path: string): FileInfo {
  const stats = statSync(path);
  return { kind: stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other', size: stats.size };
}

/** An entry that goes away meanwhile is left out. */
function entriesOf(folder: string, deep: boolean): FileEntry[] {
  const found = attempt(folder, () => readdirSync(folder, { withFileTypes: true })) ?? [];
  return found.flatMap((entry): FileEntry[] => {
    const path = join(folder, entry.name);
    const info = attempt(path, () => infoOf(path));
    if (info === undefined) return [];
    return [{ path, ...info }, ...(deep && entry.isDirectory() ? entriesOf(path, deep) : [])];
  });
}

function append(path: string, bytes: Buffer): true {
  const file = openSync(path, constants.O_WRONLY | constants.O_APPEND);
  try {
    writeSync(file, bytes);
  } finally {
    closeSync(file);
  }
  return true;
}

/** Undefined when nothing is at the path. */
function attempt<T>(path: string, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isAbsent(error)) return undefined;
    if (!isForbidden(error)) throw error;
    throw new FilesUnreadable(
      `${path}: this user may not go there, though control names it; run Muster as a user who may`,
      {
        cause: error,
      },
    );
  }
}
