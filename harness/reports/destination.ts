/** Where a report goes: a stream, or a file that is there whole or not at all. */
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
import { UsageError } from '../common/usage-error.ts';

/** Makes the folder and tries it before the run: a report that can't be written is better known at once. */
export function prepareFile(option: string, path: string): string {
  const file = resolve(path);
  try {
    makeFolder(dirname(file));
    if (!statSync(dirname(file)).isDirectory()) throw new Error('it is no folder');
    const there = statSync(file, { throwIfNoEntry: false });
    if (there?.isDirectory() === true) throw new Error(`${file} is a folder`);
    // A file is replaced by one that is written beside it: a file system may refuse that which says it may be written (/proc).
    if (there === undefined || there.isFile()) {
      const beside = `${there === undefined ? file : realpathSync(file)}.${process.pid}.tmp`;
      closeSync(openSync(beside, 'w'));
      rmSync(beside);
    } else accessSync(file, constants.W_OK);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/, \w+ '.*'$/, '') : String(error);
    throw new UsageError(`${option}: cannot write ${file} (${reason})`);
  }
  return file;
}

/** Step by step: where a kernel answers ENOENT to a new folder in one that exists (/proc), `recursive` never ends. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}

/** Whether it keeps only the last thing that was written: not so a pipe or a terminal. */
export function isOneFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() !== false;
}

/** Renamed into place. What is no regular file (a pipe, /dev/stderr) is written to as it is, and never replaced. */
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
