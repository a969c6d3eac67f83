/**
 * File operations of a robot. Everything that must survive a crash passes here, so that a fault can tear a write, fill
 * the disk or stop the process between two steps.
 * Small writes and renames are synchronous, because they reach only the page cache, within microseconds. Operations
 * that wait for the disk or move much data are asynchronous, so that one robot's disk does not delay the others.
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
  /** Asynchronous `read`, for much data. */
  load(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  /** Writes the whole `buffer`, or throws and leaves any part of it in the file. */
  write(fd: number, buffer: Uint8Array, position: number): void;
  /** Asynchronous `write`, for much data; resolves once on the disk in a file opened with `DURABLE`. */
  store(fd: number, buffer: Uint8Array, position: number): Promise<void>;
  truncate(fd: number, length: number): void;
  rename(from: string, to: string): void;
  makeDirectory(path: string, mode?: number): void;
  link(target: string, path: string): void;
  /** Removes a file, a link or a whole directory; ignores a missing `path`. */
  remove(path: string): void;
  /** Resolves once the file's data is on the disk. */
  sync(fd: number): Promise<void>;
  /** Resolves once the directory's entries are on the disk. */
  syncDirectory(path: string): Promise<void>;
}

const read = promisify(fs.read);
const write = promisify(fs.write);
const fdatasync = promisify(fs.fdatasync);
const fsync = promisify(fs.fsync);

/** Makes a write end on the disk (O_DSYNC), one wait instead of two, which only Linux guarantees. */
const SYNCS_BY_ITSELF = process.platform === 'linux';

export const DURABLE = fs.constants.O_RDWR | (SYNCS_BY_ITSELF ? fs.constants.O_DSYNC : 0);

export const disk: DiskIo = {
  open: (path, flags, mode = 0o644) => fs.openSync(path, flags, mode),
  close: (fd) => fs.closeSync(fd),
  size: (fd) => fs.fstatSync(fd).size,
  read: (fd, buffer, offset, length, position) => fs.readSync(fd, buffer, offset, length, position),
  load: async (fd, buffer, offset, length, position) => {
    return (await read(fd, buffer, offset, length, position)).bytesRead;
  },
  write: (fd, buffer, position) => {
    for (let done = 0; done < buffer.length; ) {
      done += fs.writeSync(fd, buffer, done, buffer.length - done, position + done);
    }
  },
  store: async (fd, buffer, position) => {
    for (let done = 0; done < buffer.length; ) {
      done += (await write(fd, buffer, done, buffer.length - done, position + done)).bytesWritten;
    }
    if (!SYNCS_BY_ITSELF) await fdatasync(fd);
  },
  truncate: (fd, length) => fs.ftruncateSync(fd, length),
  rename: (from, to) => fs.renameSync(from, to),
  makeDirectory: (path, mode = 0o777) => void fs.mkdirSync(path, { recursive: true, mode }),
  link: (target, path) => fs.symlinkSync(target, path),
  remove: (path) => {
    // Checks first, because usually nothing exists: cheaper for thousands of robots than an error or rmSync.
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

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

const UNWRITABLE = new Set(['EROFS', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT']);

export const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? '');

/** Whether the disk rejects writes for now: full, read-only, or without permission. */
export const isUnwritable = (error: unknown): boolean => UNWRITABLE.has(errorCode(error) ?? '');

/** Result of `read` for an existing `path`; the check is cheaper than an error of each new robot. */
export function ifPresent<T>(path: string, read: () => T): T | undefined {
  if (!fs.existsSync(path)) return undefined;
  try {
    return read();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Replaces a file atomically: a reader, or a crash at any moment, finds the whole old file or the whole new one.
 * `durable`: resolves once the new file is on the disk.
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

/**
 * Fills a file beside `path` and renames it into place, and calls `placed` in the same tick. A failure leaves `path` as
 * it was, and no other file.
 */
export async function putInPlace(
  io: DiskIo,
  path: string,
  mode: number | undefined,
  fill: (fd: number) => Promise<void>,
  placed: () => void = () => {},
): Promise<void> {
  const beside = besideName(path);
  try {
    const fd = io.open(beside, NEW_FILE, mode);
    try {
      await fill(fd);
    } finally {
      io.close(fd);
    }
    io.rename(beside, path);
    placed();
  } catch (error) {
    discard(io, beside);
    throw error;
  }
}

/** Ignores errors: the caller reports the first failure, and the next start removes the file. */
function discard(io: DiskIo, path: string): void {
  try {
    io.remove(path);
  } catch {}
}

/** Removes files and links that a crash kept from their place; the directory must have no other user. */
export function removeUnfinished(io: DiskIo, directory: string): void {
  for (const name of ifPresent(directory, () => fs.readdirSync(directory)) ?? []) {
    const path = `${directory}/${name}`;
    if (isBesideName(name) && !fs.lstatSync(path).isDirectory()) io.remove(path);
  }
}

/** Failure to store events, of which none was delivered: disk full or unwritable, or robot down. */
export class EventLogError extends Error {
  override name = 'EventLogError';
}

export class AgentDownError extends EventLogError {
  override name = 'AgentDownError';
}

/** Failure to compact the log, which still has every event. */
export class CompactionError extends Error {
  override name = 'CompactionError';
}
