/**
 * New files and sockets that nobody else can have prepared, read or led elsewhere: made under a name that cannot be foreseen, with
 * their final permissions from the first moment, and put in place by a rename.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

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
 * Replaces `path` in one step: a reader, or a crash, finds either the old file or the new one. A link at `path` is replaced and
 * not followed. Throws the system's error, and leaves nothing behind then.
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
