/** Where a report goes: a stream, or a file that is there whole or not at all. */
import { accessSync, constants, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { UsageError } from '../commands/errors.ts';

/** Makes the folder and tries it before the run: a report that can't be written is better known at once. */
export function prepareFile(option: string, path: string): string {
  const file = resolve(path);
  try {
    mkdirSync(dirname(file), { recursive: true });
    accessSync(dirname(file), constants.W_OK);
  } catch (error) {
    throw new UsageError(
      `${option}: cannot write below ${dirname(file)} (${error instanceof Error ? error.message : error})`,
    );
  }
  return file;
}

export function writeWhole(file: string, text: string): void {
  const beside = `${file}.${process.pid}.tmp`;
  writeFileSync(beside, text, { mode: 0o644 });
  renameSync(beside, file);
}
