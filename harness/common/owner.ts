/** Names temporary folders after their process, so that a later process can remove folders of dead processes. */
import { createHash } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { orElse } from './lenient.ts';
import { UsageError } from './usage.ts';
import { whyNot } from './user-files.ts';

const OWNED = /^muster-(?:[a-z]+-)?(?<pid>[0-9a-z]+)_(?<start>[0-9a-z]+)_(?<where>[0-9a-z]{4})_\w{6}$/;

const swept = new Set<string>();

/** Makes a folder for the current user only; its short name leaves room for a socket's path. Throws UsageError. */
export function ownedFolder(purpose: string, parent: string = tmpdir()): string {
  if (!swept.has(parent)) sweep(parent);
  swept.add(parent);
  const owner = [process.pid.toString(36), (startOf(process.pid) ?? 0).toString(36), here()].join('_');
  try {
    return mkdtempSync(join(parent, `muster-${purpose === '' ? '' : `${purpose}-`}${owner}_`));
  } catch (error) {
    throw new UsageError(`${parent}: no folder can be made here (${whyNot(error)}); TMPDIR names a writable folder`);
  }
}

/** Removes folders of ended processes of the same user; never throws. */
export function sweep(parent: string): void {
  for (const name of orElse(() => readdirSync(parent), [])) {
    const { pid = '', start, where } = OWNED.exec(name)?.groups ?? {};
    if (where !== here() || startOf(Number.parseInt(pid, 36))?.toString(36) === start) continue;
    const path = join(parent, name);
    try {
      const found = lstatSync(path);
      if (found.isDirectory() && found.uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
    } catch {
      // Another process may have removed the folder, or the system refuses the removal.
    }
  }
}

/** Start time of a running process (0 if unknown), which distinguishes two processes with the same id. */
export function startOf(pid: number): number | undefined {
  if (process.platform !== 'linux') return isAlive(pid) ? 0 : undefined;
  const [state = '', ...more] = statOf(pid);
  return ['', 'Z', 'X'].includes(state) ? undefined : Number(more[18]);
}

/**
 * Fields of `/proc/PID/stat` behind the process name, which may contain parentheses: state, parent, group and so on;
 * start time is the 20th. An ended process has an empty state.
 */
export function statOf(pid: number | string): string[] {
  const stat = orElse(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), '');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
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

function here(): string {
  cached ??= BigInt(`0x${createHash('sha256').update(placeOfIds()).digest('hex')}`)
    .toString(36)
    .slice(0, 4);
  return cached;
}

const placeOfIds = (): string =>
  orElse(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8') + readlinkSync('/proc/self/ns/pid'), hostname());
