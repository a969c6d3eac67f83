/**
 * File operations, which injected faults can replace. Writes to the page cache are synchronous; waits for the disk are
 * asynchronous, so that robots do not delay each other.
 */

import fs from 'node:fs';
import process from 'node:process';
import { promisify } from 'node:util';
import { besideName, isBesideName, NEW_FILE } from '../../../harness/common/user-files.ts';

export interface DiskIo {
  open(path: string, flags: string | number, mode?: number): number;
  close(fd: number): void;
  size(fd: number): number;
  read(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number;
  load(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  /** After an error, the file may contain some of the bytes. */
  write(fd: number, buffer: Uint8Array, position: number): void;
  /** For a file opened with `DURABLE`, resolves once the bytes are on the disk. */
  store(fd: number, buffer: Uint8Array, position: number): Promise<void>;
  truncate(fd: number, length: number): void;
  rename(from: string, to: string): void;
  makeDirectory(path: string, mode?: number): void;
  link(target: string, path: string): void;
  /** Removes a directory tree too; ignores a missing path. */
  remove(path: string): void;
  sync(fd: number): Promise<void>;
  syncDirectory(path: string): Promise<void>;
}

const read = promisify(fs.read);
const write = promisify(fs.write);
const fdatasync = promisify(fs.fdatasync);
const fsync = promisify(fs.fsync);

/** On Linux, O_DSYNC makes a write wait for the disk without a separate sync. */
const SYNCS_BY_ITSELF = process.platform === 'linux';

export const DURABLE = fs.constants.O_RDWR | (SYNCS_BY_ITSELF ? fs.constants.O_DSYNC : 0);

export const disk: DiskIo = {
  open: (path, flags, mode = 0o644) => fs.openSync(path, flags, mode),
  close: (fd) => fs.closeSync(fd),
  size: (fd) => fs.fstatSync(fd).size,
  read: (fd, buffer, offset, length, position) => fs.readSync(fd, buffer, offset, length, position),
  load: async (fd, buffer, offset, length, position) => (await read(fd, buffer, offset, length, position)).bytesRead,
  write: (fd, buffer, position) => {
    for (let done = 0; done < buffer.length; )
      done += fs.writeSync(fd, buffer, done, buffer.length - done, position + done);
  },
  store: async (fd, buffer, position) => {
    for (let done = 0; done < buffer.length; )
      done += (await write(fd, buffer, done, buffer.length - done, position + done)).bytesWritten;
    if (!SYNCS_BY_ITSELF) await fdatasync(fd);
  },
  truncate: (fd, length) => fs.ftruncateSync(fd, length),
  rename: (from, to) => fs.renameSync(from, to),
  makeDirectory: (path, mode = 0o777) => void fs.mkdirSync(path, { recursive: true, mode }),
  link: (target, path) => fs.symlinkSync(target, path),
  remove: (path) => {
    // The path is usually missing, and rmSync is slower than this check.
    const found = fs.lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) fs.rmSync(path, { recursive: true, force: true });
    else if (found) fs.unlinkSync(path);
  },
  sync: (fd) => fdatasync(fd),
  syncDirectory: async (path) => {
    const fd = fs.openSync(path, 'r');
    try {
      await fsync(fd);
    } finally {
      fs.closeSync(fd);
    }
  },
};

export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

export const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? '');

export const isUnwritable = (error: unknown): boolean =>
  ['EROFS', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? '');

export function ifPresent<T>(path: string, read: () => T): T | undefined {
  if (!fs.existsSync(path)) return undefined;
  try {
    return read();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

export function opened(io: DiskIo, path: string, flags: string | number, mode?: number): { fd: number } & Disposable {
  const fd = io.open(path, flags, mode);
  return { fd, [Symbol.dispose]: () => io.close(fd) };
}

/**
 * Replaces a file atomically, even in a crash of the agent. `durable`: waits for the disk, so that a crash of the
 * machine also leaves the complete old or new content.
 */
export async function replaceFile(
  io: DiskIo,
  directory: string,
  name: string,
  content: string | Uint8Array,
  durable: boolean,
  mode?: number,
): Promise<void> {
  await putInPlace(io, `${directory}/${name}`, mode, async (fd) => {
    io.write(fd, typeof content === 'string' ? Buffer.from(content) : content, 0);
    if (durable) await io.sync(fd);
  });
  if (durable) await io.syncDirectory(directory);
}

/** Writes a temporary file, then renames the file to `path`; calls `placed` in the tick of the rename. */
export async function putInPlace(
  io: DiskIo,
  path: string,
  mode: number | undefined,
  fill: (fd: number) => Promise<void>,
  placed: () => void = () => {},
): Promise<void> {
  const beside = besideName(path);
  try {
    {
      using file = opened(io, beside, NEW_FILE, mode);
      await fill(file.fd);
    }
    io.rename(beside, path);
    placed();
  } catch (error) {
    try {
      io.remove(beside);
    } catch {} // leaves the temporary file, which the next start of the agent removes
    throw error;
  }
}

/** Removes temporary files of interrupted writes; no other agent may use the directory. */
export function removeUnfinished(io: DiskIo, directory: string): void {
  for (const name of ifPresent(directory, () => fs.readdirSync(directory)) ?? []) {
    const path = `${directory}/${name}`;
    if (isBesideName(name) && !fs.lstatSync(path).isDirectory()) io.remove(path);
  }
}

/** Failure to store events; none was delivered. */
export class EventLogError extends Error {
  override name = 'EventLogError';
}

export class AgentDownError extends EventLogError {
  override name = 'AgentDownError';
}

/** Failure to compact; no event is lost. */
export class CompactionError extends Error {
  override name = 'CompactionError';
}
