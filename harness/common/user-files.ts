/**
 * Files of the command line. An output is tried before the work, and then written whole or not at all; an input is a
 * regular file, or a pipe, read to its end.
 */

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

// New files and sockets get an unpredictable name and their final permissions first, then their place by a rename, so
// that nobody can prepare, read or redirect them.

/** Flags to create a file that exists neither as file nor as link, with its mode from the start. */
export const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/** Permissions of a file with a secret: owner only. */
export const SECRET_MODE = 0o600;

const FORM = /^\.muster-[0-9a-f]{24}$/;

/** Unpredictable name in the folder of `path`; short, because a name has at most 255 bytes. */
export const besideName = (path: string): string => join(dirname(path), `.muster-${randomBytes(12).toString('hex')}`);

/** Whether a name is from `besideName`, left by a crash before the rename. */
export const isBesideName = (name: string): boolean => FORM.test(name);

/**
 * Replaces `path` atomically: a reader, or a crash, finds the old file or the new one. A link at `path` is replaced.
 * Throws the system's error, and leaves nothing behind.
 *
 * @param mode permissions, reduced by the umask
 */
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
 * Makes the folder of a file and tries to write there, to refuse a wrong place before a run.
 *
 * @param option option of the file, for the message
 * @returns the absolute path
 * @throws UsageError
 */
export function prepareFile(option: string, path: string): string {
  const file = resolve(path);
  try {
    makeFolder(dirname(file));
    if (!statSync(dirname(file)).isDirectory()) throw new Error('it is not a folder');
    const there = statSync(file, { throwIfNoEntry: false });
    if (there?.isDirectory() === true) throw new Error(`${file} is a folder`);
    // Tried for real: some file systems (/proc) refuse new files in folders marked as writable.
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

/**
 * Makes folders one by one, because `recursive` never ends if a kernel answers ENOENT for a new folder in an existing
 * one (/proc).
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}

/** Whether a second text would replace the first; not in a pipe or a terminal. */
export function isOneFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() !== false;
}

/** Writes a new file and renames it into place. Writes directly to a pipe or device. */
export function writeWhole(file: string, text: string): void {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there !== undefined && !there.isFile()) {
    writeFileSync(file, text);
    return;
  }
  replaceWith(there === undefined ? file : realpathSync(file), text);
}

const PIECE = 65_536;
/** Limit of a text or pipe: /dev/zero never ends, and a text of 512 MiB does not fit a string. */
const LARGEST_INPUT_BYTES = 67_108_864;
const PAUSE_MS = 5;

export class TooLarge extends Error {
  override name = 'TooLarge';
  constructor() {
    super(`it has more than ${LARGEST_INPUT_BYTES} bytes`);
  }
}

/**
 * All bytes of a file. Throws Error with the reason, TooLarge above `most` bytes. Never waits for the other end of a
 * pipe to be opened.
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

/** File as UTF-8 text. Throws like `readInput`, and TooLarge above 64 MiB. */
export const readInputText = (path: string): string => readInput(path, LARGEST_INPUT_BYTES).toString('utf8');

/** Reason for a failed read or write, for a message that names the file. */
export function whyNot(error: unknown): string {
  return error instanceof Error ? error.message.replace(/, \w+ '.*'$/, '') : String(error);
}

function readPipe(file: number): Buffer {
  const parts: Buffer[] = [];
  let size = 0;
  for (;;) {
    const piece = Buffer.alloc(PIECE);
    const read = some(file, piece);
    if (read === 0) return Buffer.concat(parts);
    parts.push(piece.subarray(0, read));
    size += read;
    if (size > LARGEST_INPUT_BYTES) throw new TooLarge();
  }
}

function some(file: number, piece: Buffer): number {
  for (;;) {
    try {
      return readSync(file, piece);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}
