/**
 * Files that the command line names. One to write is tried before the work, and then written whole or not at all; one
 * to read is a regular file, or a pipe, which is read to its end.
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

// New files and sockets that nobody else can have prepared, read or led elsewhere: made under a name that cannot be
// foreseen, with their final permissions from the first moment, and put in place by a rename.

/** Flags to open a file that must not exist, neither as a file nor as a link. The mode counts from the first moment. */
export const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/** Permissions of a file with a secret: its owner alone may read it. */
export const SECRET_MODE = 0o600;

const FORM = /^\.muster-[0-9a-f]{24}$/;

/** A name in the folder of `path` that cannot be foreseen. It is short, since a name has at most 255 bytes. */
export const besideName = (path: string): string => join(dirname(path), `.muster-${randomBytes(12).toString('hex')}`);

/** Whether a file has a name of `besideName`: one that a crash has left behind before it was put in place. */
export const isBesideName = (name: string): boolean => FORM.test(name);

/**
 * Replaces `path` in one step: a reader, or a crash, finds either the old file or the new one. A link at `path` is
 * replaced and not followed. Throws the system's error, and leaves nothing behind then.
 *
 * @param mode permissions, less those that the umask takes away
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
 * Makes the folder of a file and tries to write there, so that a wrong place is refused before a run and not after it.
 *
 * @param option the option that named the file, for the message
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
    // Tried for real: some file systems (/proc) refuse new files in folders that they call writable.
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
 * Step by step, since `recursive` never ends where a kernel answers ENOENT to a new folder in one that exists (/proc).
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}

/** Whether a second text would replace the first. In a pipe or a terminal it would not. */
export function isOneFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() !== false;
}

/**
 * Writes a file beside it and renames that into place. A pipe or a device is written to directly, and never replaced.
 */
export function writeWhole(file: string, text: string): void {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there !== undefined && !there.isFile()) {
    writeFileSync(file, text);
    return;
  }
  replaceWith(there === undefined ? file : realpathSync(file), text);
}

const PIECE = 65_536;
/** Far more than any text or pipe has: /dev/zero has no end, and a text of 512 MiB cannot be held at all. */
const LARGEST_INPUT_BYTES = 67_108_864;
const PAUSE_MS = 5;

/** An input has more bytes than any has. */
export class TooLarge extends Error {
  override name = 'TooLarge';
  constructor() {
    super(`it has more than ${LARGEST_INPUT_BYTES} bytes`);
  }
}

/**
 * All bytes of a file. Throws Error with the reason, TooLarge above `most` bytes, and never waits for someone to open
 * the other end of a pipe.
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

/** The file as UTF-8 text. Throws what `readInput` throws, and TooLarge above 64 MiB. */
export const readInputText = (path: string): string => readInput(path, LARGEST_INPUT_BYTES).toString('utf8');

/** Why a file could not be read or written, for a message that names it already. */
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

/** Number of bytes read, 0 at the end. Waits while the other end is open and writes nothing. */
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
