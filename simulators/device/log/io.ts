/**
 * The file operations of a robot. Everything that must survive a crash goes through here, so that a fault can tear a
 * write, fill the disk or stop the process between two steps.
 *
 * Small writes and renames are synchronous: they reach only the page cache, within microseconds. Operations that wait
 * for the disk or move much at once are asynchronous, so that the disk of one robot does not delay the others.
 */

import fs from 'node:fs';
import process from 'node:process';
import { promisify } from 'node:util';
import { besideName, isBesideName, NEW_FILE } from '../../../harness/common/user-files.ts';

export interface DiskIo {
  open(path: string, flags: string | number, mode?: number): number;
  close(fd: number): void;
  /** Bytes in the open file. */
  size(fd: number): number;
  /** Bytes read, 0 at the end. */
  read(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number;
  /** Like `read`, for so much at once that others must not wait for it. */
  load(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  /** Writes all of `buffer` at `position`, or throws; after a throw any part of it may be in the file. */
  write(fd: number, buffer: Uint8Array, position: number): void;
  /**
   * Like `write`, for so much at once that others must not wait. In a file opened with `DURABLE` it is on the disk in
   * the end.
   */
  store(fd: number, buffer: Uint8Array, position: number): Promise<void>;
  truncate(fd: number, length: number): void;
  rename(from: string, to: string): void;
  /** Makes a directory and its parents, unless they exist. */
  makeDirectory(path: string, mode?: number): void;
  /** Makes a symbolic link at `path`. */
  link(target: string, path: string): void;
  /** Removes a file, a link or a directory with its content; does nothing when `path` does not exist. */
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

/**
 * With O_DSYNC a write ends when it is on the disk: one wait instead of two. Other systems than Linux promise less for
 * it.
 */
const SYNCS_BY_ITSELF = process.platform === 'linux';

/** Flags to open a file that `store` writes. */
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
    // Usually there is nothing to remove. For thousands of robots this is cheaper than an error, or than rmSync.
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

/** The `code` of a system error (`ENOSPC`, `ENOENT`, …), or undefined. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

const UNWRITABLE = new Set(['EROFS', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT']);

/** Whether the disk, or the user's share of it, has no room. */
export const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? '');

/** Whether the disk takes no writes now: it is full, read-only, or not ours. It can still be read. */
export const isUnwritable = (error: unknown): boolean => UNWRITABLE.has(errorCode(error) ?? '');

/** The result of `read`, undefined when nothing exists at `path`. Cheaper than an error for thousands of new robots. */
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
 * Replaces a file in one step: a reader, or a crash at any moment, leaves either the whole old file or the whole new
 * one. With `durable`, the result resolves when the new one is on the disk.
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
 * Makes a new file beside `path`, has it filled, and renames it into place; `placed` is called in the tick of the
 * rename. A failure leaves `path` as it was, and nothing beside it.
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

/**
 * After a failure that is told already: an agent that was killed cannot remove anything any more, its next start does.
 */
function discard(io: DiskIo, path: string): void {
  try {
    io.remove(path);
  } catch {}
}

/**
 * Removes files and links that a crash has left before they were put in place, in a directory that nobody else uses.
 */
export function removeUnfinished(io: DiskIo, directory: string): void {
  for (const name of ifPresent(directory, () => fs.readdirSync(directory)) ?? []) {
    const path = `${directory}/${name}`;
    if (isBesideName(name) && !fs.lstatSync(path).isDirectory()) io.remove(path);
  }
}

/**
 * The log cannot take events: the disk is full or not writable, or the robot is down. None of the events was delivered.
 */
export class EventLogError extends Error {
  override name = 'EventLogError';
}

/** The agent that should store the events has ended. */
export class AgentDownError extends EventLogError {
  override name = 'AgentDownError';
}

/** The log could not be compacted. Every event is still there. */
export class CompactionError extends Error {
  override name = 'CompactionError';
}
