/** Where a report goes: a stream, or a file that is there whole or not at all. */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { UsageError } from '../usage-error.ts';

/** Makes the folder and tries it before the run: a report that can't be written is better known at once. */
export function prepareFile(option: string, path: string): string {
  const file = resolve(path);
  try {
    makeFolder(dirname(file));
    if (!statSync(dirname(file)).isDirectory()) throw new Error('it is no folder');
    accessSync(dirname(file), constants.W_OK);
  } catch (error) {
    throw new UsageError(
      `${option}: cannot write below ${dirname(file)} (${error instanceof Error ? error.message : error})`,
    );
  }
  return file;
}

/** Step by step: where a kernel answers ENOENT to a new folder in one that exists (/proc), `recursive` never ends. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
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
