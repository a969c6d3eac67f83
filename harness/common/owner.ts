/**
 * Temporary folders named after their owner, so that a later process removes those of a killed one. A name is valid on
 * this machine, in this namespace of process ids, until reboot; other folders are left alone.
 */
import { createHash } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { UsageError } from './usage.ts';
import { whyNot } from './user-files.ts';

const OWNED = /^muster-(?:[a-z]+-)?(?<pid>[0-9a-z]+)_(?<start>[0-9a-z]+)_(?<where>[0-9a-z]{4})_\w{6}$/;

const swept = new Set<string>();

/**
 * Makes an empty folder, readable by its owner alone, and first removes those in `parent` whose owner was killed. Names
 * are short, because the path of a socket is limited to 107 bytes.
 *
 * @param purpose letters in the name; '' for none
 * @returns its path
 */
export function ownedFolder(purpose: string, parent: string = tmpdir()): string {
  if (!swept.has(parent)) sweep(parent);
  swept.add(parent);
  const owner = [process.pid.toString(36), startOf(process.pid) ?? '0', here()].join('_');
  try {
    return mkdtempSync(join(parent, `muster-${purpose === '' ? '' : `${purpose}-`}${owner}_`));
  } catch (error) {
    throw new UsageError(`${parent}: no folder can be made here (${whyNot(error)}); TMPDIR names a writable folder`);
  }
}

/** Removes folders in `parent` that belong to ended processes of this user. Never throws. */
export function sweep(parent: string): void {
  for (const name of namesIn(parent)) {
    const { pid = '', start, where } = OWNED.exec(name)?.groups ?? {};
    if (where !== here() || startOf(Number.parseInt(pid, 36)) === start) continue;
    const path = join(parent, name);
    try {
      const found = lstatSync(path);
      if (found.isDirectory() && found.uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
    } catch {
      // Another process sweeps too, or the folder cannot be removed.
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Start time of a process, which distinguishes it from a later one with the same id; undefined if it has ended. */
function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return isAlive(pid) ? '0' : undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The last parenthesis ends the name, which may contain any character. The state is the third field, the start the
    // 22nd.
    const [state = '', ...more] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return 'ZX'.includes(state) ? undefined : Number(more[18]).toString(36);
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

let cached: string | undefined;

/** Hash of the scope of process ids, four characters. */
function here(): string {
  cached ??= BigInt(`0x${createHash('sha256').update(placeOfIds()).digest('hex')}`)
    .toString(36)
    .slice(0, 4);
  return cached;
}

function placeOfIds(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8') + readlinkSync('/proc/self/ns/pid');
  } catch {
    return hostname();
  }
}
