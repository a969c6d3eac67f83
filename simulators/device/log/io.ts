/**
 * File operations of a robot. Everything that must survive a crash goes through here, so that a fault can tear a write,
 * fill the disk or stop the process between two steps.
 * Small writes and renames are synchronous: they reach only the page cache, within microseconds. Operations that wait
 * for the disk or move much data are asynchronous, so that one robot's disk does not delay the others.
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
  /** Asynchronous `read` for large amounts. */
  load(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  /** Writes all of `buffer` at `position`, or throws; a failed write may leave any part of it in the file. */
  write(fd: number, buffer: Uint8Array, position: number): void;
  /** Asynchronous `write` for large amounts. In a file opened with `DURABLE` it resolves once on the disk. */
  store(fd: number, buffer: Uint8Array, position: number): Promise<void>;
  truncate(fd: number, length: number): void;
  rename(from: string, to: string): void;
  makeDirectory(path: string, mode?: number): void;
  link(target: string, path: string): void;
  /** Removes a file, a link or a directory with its content; ignores a missing `path`. */
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

/** With O_DSYNC a write ends on the disk: one wait instead of two. Only Linux guarantees that. */
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
    // Usually nothing exists; for thousands of robots this check is cheaper than an error or rmSync.
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

/** `code` of a system error (`ENOSPC`, `ENOENT`, …), or undefined. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

const UNWRITABLE = new Set(['EROFS', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT']);

export const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? '');

/** Whether the disk currently rejects writes (full, read-only, no permission); reads may still work. */
export const isUnwritable = (error: unknown): boolean => UNWRITABLE.has(errorCode(error) ?? '');

/** Result of `read`; undefined if nothing exists at `path`. Cheaper than an error for thousands of new robots. */
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
 * Replaces a file atomically: a reader, or a crash at any moment, finds the whole old file or the whole new one. With
 * `durable` it resolves once the new one is on the disk.
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
 * Creates a file beside `path`, fills it, and renames it into place; `placed` is called in the tick of the rename. A
 * failure leaves `path` as it was and no other file.
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

/** Ignores errors: the original failure is reported, and a killed agent's next start removes the file. */
function discard(io: DiskIo, path: string): void {
  try {
    io.remove(path);
  } catch {}
}

/** Removes files and links that a crash left before they were put in place; the directory must have no other user. */
export function removeUnfinished(io: DiskIo, directory: string): void {
  for (const name of ifPresent(directory, () => fs.readdirSync(directory)) ?? []) {
    const path = `${directory}/${name}`;
    if (isBesideName(name) && !fs.lstatSync(path).isDirectory()) io.remove(path);
  }
}

/** The log cannot take events: the disk is full or not writable, or the robot is down. No event was delivered. */
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
