/** Reads and writes files of the command line; an output is written completely or not at all. */

import { randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { UsageError } from './usage.ts';

/** Bytes of a unix socket's path, limited by the system's `sun_path`. */
export const LONGEST_SOCKET_PATH = process.platform === 'linux' ? 107 : 103;

/** Refuses an existing file or link, which another user may have prepared. */
export const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

export const SECRET_MODE = 0o600;

export const besideName = (path: string): string => join(dirname(path), `.muster-${randomBytes(12).toString('hex')}`);

export const isBesideName = (name: string): boolean => /^\.muster-[0-9a-f]{24}$/.test(name);

/** Replaces `path` atomically, even a link; leaves no temporary file after an error. `mode`: permissions. */
export function replaceWith(path: string, content: string | Uint8Array, mode = 0o644): void {
  const beside = besideName(path);
  const file = openSync(beside, NEW_FILE, mode);
  try {
    try {
      writeFileSync(file, content);
    } finally {
      closeSync(file);
    }
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

/**
 * Makes the folder of `path`, and tests before a run that `path` can be written. Returns the absolute path. Throws
 * UsageError that names `option`.
 */
export function prepareFile(option: string, path: string): string {
  const file = resolve(path);
  try {
    makeFolder(dirname(file));
    if (!statSync(dirname(file)).isDirectory()) throw new Error('it is not a folder');
    const there = statSync(file, { throwIfNoEntry: false });
    if (there?.isDirectory() === true) throw new Error(`${file} is a folder`);
    // Creates a file on trial, because some file systems (/proc) refuse files in folders that permit writing.
    if (there === undefined || there.isFile()) {
      const beside = besideName(there === undefined ? file : realpathSync(file));
      closeSync(openSync(beside, NEW_FILE));
      rmSync(beside);
    } else accessSync(file, constants.W_OK);
  } catch (error) {
    throw new UsageError(`${option}: cannot write ${file} (${whyNot(error)})`);
  }
  return file;
}

/** Makes folders one by one, because `recursive` never ends on /proc, where the kernel answers ENOENT. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}

export function isOneFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() !== false;
}

/** Replaces a file atomically; writes directly to a pipe or device. */
export function writeWhole(file: string, text: string): void {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there !== undefined && !there.isFile()) return void writeFileSync(file, text);
  const place = there === undefined ? file : realpathSync(file);
  try {
    replaceWith(place, text);
  } catch (error) {
    // A mount point, such as a file that a container mounts, cannot be replaced.
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    writeFileSync(place, text);
  }
}

/** Bounds input, because /dev/zero never ends. */
const LARGEST_INPUT_BYTES = 67_108_864;

export class TooLarge extends Error {
  override name = 'TooLarge';
  constructor() {
    super(`it has more than ${LARGEST_INPUT_BYTES} bytes`);
  }
}

/**
 * Refuses a pipe that no writer has opened. Throws Error with the reason, or TooLarge: a file above `most` bytes, other
 * input above 64 MiB.
 */
export function readInput(path: string, most = Number.POSITIVE_INFINITY): Buffer {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const kind = fstatSync(file);
    if (kind.isDirectory()) throw new Error('it is a folder');
    if (kind.size > most) throw new TooLarge();
    if (kind.isFile()) return readFileSync(file);
    const content = readPipe(file);
    if (content.length === 0 && kind.isFIFO()) throw new Error('it is a pipe into which nobody writes');
    return content;
  } finally {
    closeSync(file);
  }
}

/** Throws like `readInput`, with a maximum of 64 MiB. */
export const readInputText = (path: string): string => readInput(path, LARGEST_INPUT_BYTES).toString('utf8');

/** Throws UsageError that begins with `named`. */
export function readUserText(named: string, path: string): string {
  try {
    return readInputText(path);
  } catch (error) {
    throw new UsageError(`${named}: cannot be read (${whyNot(error)})`);
  }
}

export function whyNot(error: unknown): string {
  return error instanceof Error ? error.message.replace(/, \w+ '.*'$/, '') : String(error);
}

function readPipe(file: number): Buffer {
  const parts: Buffer[] = [];
  let size = 0;
  while (size <= LARGEST_INPUT_BYTES) {
    const piece = Buffer.alloc(65_536);
    try {
      const read = readSync(file, piece);
      if (read === 0) return Buffer.concat(parts);
      parts.push(piece.subarray(0, read));
      size += read;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  throw new TooLarge();
}
