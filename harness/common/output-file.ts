/** Files that were named on the command line to be written: tried before the work, and written whole or not at all. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { whyNot } from './read-input.ts';
import { UsageError } from './usage-error.ts';

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
      const beside = `${there === undefined ? file : realpathSync(file)}.${process.pid}.tmp`;
      closeSync(openSync(beside, 'w'));
      rmSync(beside);
    } else accessSync(file, constants.W_OK);
  } catch (error) {
    throw new UsageError(`${option}: cannot write ${file} (${whyNot(error)})`);
  }
  return file;
}

/** Step by step, since `recursive` never ends where a kernel answers ENOENT to a new folder in one that exists (/proc). */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}

/** Whether a second text would replace the first. In a pipe or a terminal it would not. */
export function isOneFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() !== false;
}

/** Writes a file beside it and renames that into place. A pipe or a device is written to directly, and never replaced. */
export function writeWhole(file: string, text: string): void {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there !== undefined && !there.isFile()) {
    writeFileSync(file, text);
    return;
  }
  const place = there === undefined ? file : realpathSync(file);
  const beside = `${place}.${process.pid}.tmp`;
  writeFileSync(beside, text, { mode: 0o644 });
  renameSync(beside, place);
}
