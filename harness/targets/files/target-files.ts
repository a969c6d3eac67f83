import { closeSync, constants, openSync, readdirSync, readFileSync, readSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../../client/errors.ts';
import type { ControlInfo } from '../../contract/control.ts';
import { Blocked } from '../../runner/violation.ts';

export interface FileInfo {
  readonly kind: 'file' | 'folder' | 'other';
  readonly size: number;
  /** Changes with each write; the size may stay equal although a log has changed. */
  readonly version?: string;
}

export interface FileEntry extends FileInfo {
  readonly path: string;
}

/** Files of the agent, by the agent's absolute paths. All methods throw FilesUnreadable if access fails. */
export interface TargetFiles {
  stat(path: string): Promise<FileInfo | undefined>;
  read(path: string): Promise<Buffer | undefined>;
  readPart(path: string, from: number, bytes: number): Promise<Buffer | undefined>;
  /** Includes subfolders if `deep`; a missing folder has no entries. */
  list(folder: string, options?: { deep?: boolean }): Promise<FileEntry[]>;
  /** Throws FilesUnreadable for a missing file. */
  append(path: string, bytes: Buffer): Promise<void>;
}

/** Unreadable files of the agent, which block the check without a verdict on the agent. */
export class FilesUnreadable extends Blocked {}

const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP']);

export const isAbsent = (error: unknown): boolean => ABSENT.has(codeOf(error) ?? '');

export const isForbidden = (error: unknown): boolean => ['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error) ?? '');

/** Reads synchronously, to see the state of files without delay after an event. */
export const hostFiles: TargetFiles = {
  stat: async (path) => attempt(path, () => infoOf(path)),
  read: async (path) => attempt(path, () => (infoOf(path).kind === 'file' ? readFileSync(path) : undefined)),
  readPart: async (path, from, bytes) =>
    attempt(path, () => {
      if (infoOf(path).kind !== 'file') return undefined;
      const part = Buffer.alloc(bytes);
      return withFile(path, constants.O_RDONLY, (file) => part.subarray(0, readSync(file, part, 0, bytes, from)));
    }),
  list: async (folder, { deep = false } = {}) => entriesOf(folder, deep),
  append: async (path, bytes) => {
    const flags = constants.O_WRONLY | constants.O_APPEND;
    const written = attempt(path, () => withFile(path, flags, (file) => writeSync(file, bytes)));
    if (written === undefined) throw new FilesUnreadable(`there is no file ${path} to write to`);
  },
};

function infoOf(path: string): FileInfo {
  const stats = statSync(path);
  const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other';
  return { kind, size: stats.size, version: `${stats.ino}:${stats.mtimeMs}` };
}

function entriesOf(folder: string, deep: boolean): FileEntry[] {
  const found = attempt(folder, () => readdirSync(folder, { withFileTypes: true })) ?? [];
  return found.flatMap((entry): FileEntry[] => {
    const path = join(folder, entry.name);
    const info = attempt(path, () => infoOf(path));
    if (info === undefined) return [];
    return [{ path, ...info }, ...(deep && entry.isDirectory() ? entriesOf(path, deep) : [])];
  });
}

function withFile<T>(path: string, flags: number, work: (file: number) => T): T {
  const file = openSync(path, flags);
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}

function attempt<T>(path: string, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isAbsent(error)) return undefined;
    if (!isForbidden(error)) throw error;
    throw new FilesUnreadable(
      `${path}: this user may not go there, though control names it; run Muster as a user who may`,
      { cause: error },
    );
  }
}

/**
 * Drops the capability `log` or `files` if its path is relative, missing or unreadable. The parent folder suffices,
 * because the first deployment may create the log.
 */
export async function withReadablePaths(
  info: ControlInfo,
  files: TargetFiles,
  notify: (text: string) => void,
): Promise<ControlInfo> {
  const dropped: string[] = [];
  for (const field of ['event_log', 'config_root'] as const) {
    const capability = field === 'event_log' ? 'log' : 'files';
    const path = info[field];
    const why = path === undefined ? undefined : await whyUnreadable(path, files);
    if (why === undefined) continue;
    dropped.push(capability, field);
    notify(`control names ${path} as ${field}, and ${why}: going on without the capability "${capability}"`);
  }
  const kept = Object.entries(info).filter(([name]) => !dropped.includes(name));
  return { ...Object.fromEntries(kept), capabilities: info.capabilities.filter((name) => !dropped.includes(name)) };
}

async function whyUnreadable(path: string, files: TargetFiles): Promise<string | undefined> {
  if (!path.startsWith('/')) return 'that is no absolute path';
  try {
    const there = (await files.stat(path)) ?? (await files.stat(dirname(path)));
    return there === undefined ? 'the container has no such place' : undefined;
  } catch (error) {
    if (!(error instanceof FilesUnreadable)) throw error;
    return error.message;
  }
}
