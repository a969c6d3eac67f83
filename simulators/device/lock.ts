/**
 * One process at a time for a robot's directory: a symbolic link `lock` whose target names its owner. It is made in one step
 * with its content, needs no descriptor, and outlives a crash, after which it names someone who is dead and is taken over.
 *
 * Processes that cannot see each other (on another machine, in another container) are not kept apart.
 */
import { readFileSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { threadId } from 'node:worker_threads';
import { errorCode } from './log/io.ts';

/** Someone else who is alive uses the directory. */
export class DirectoryInUseError extends Error {
  override name = 'DirectoryInUseError';
}

export interface Lock {
  /** Gives it back. */
  release(): void;
  /** Leaves it as a crash does: held by nobody who lives. */
  abandon(): void;
}

/** Names of the owners in this thread that are alive. */
const held = new Set<string>();
let locks = 0;
let self: string | undefined;

/** Throws DirectoryInUseError, or the system's error when the directory takes no lock. */
export function lockDirectory(directory: string): Lock {
  const path = `${directory}/lock`;
  self ??= [process.pid, startOf(process.pid) ?? '', ...here(), threadId].join('-');
  locks += 1;
  const name = `${self}-${locks}`;
  held.add(name);
  try {
    acquire(path, name);
  } catch (error) {
    held.delete(name);
    throw error;
  }
  return {
    release: () => {
      if (held.delete(name) && ownerOf(path) === name) unlinkSync(path);
    },
    abandon: () => {
      held.delete(name);
    },
  };
}

function acquire(path: string, name: string): void {
  while (!made(path, name)) {
    const owner = ownerOf(path);
    if (owner === undefined) continue;
    if (isAlive(owner)) {
      const [pid] = owner.split('-');
      const who = pid === String(process.pid) ? 'another device of this process' : `process ${pid}`;
      throw new DirectoryInUseError(`${dirname(path)} is in use by ${who}; give each device a directory of its own`);
    }
    // Several may have seen that the owner is dead. Who has the right to replace this very owner puts it in its place.
    const right = `${dirname(path)}/lock.${owner}`;
    acquire(right, name);
    if (ownerOf(path) === owner) {
      renameSync(right, path);
      return;
    }
    unlinkSync(right);
  }
}

function made(path: string, name: string): boolean {
  try {
    symlinkSync(name, path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Undefined when there is no lock. */
function ownerOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    if (errorCode(error) === 'EINVAL') throw new Error(`${path} is not a lock; remove it, or name another directory`);
    throw error;
  }
}

function isAlive(owner: string): boolean {
  const [pid = '', start, boot, space, thread] = owner.split('-');
  const [bootHere, spaceHere] = here();
  // After a restart of the machine or of the container nobody of before is alive.
  if (boot !== bootHere || space !== spaceHere || !/^[1-9]\d*$/.test(pid)) return false;
  if (Number(pid) !== process.pid) return start === startOf(Number(pid));
  if (start !== startOf(process.pid)) return false;
  // Of another thread nothing is known but that its process lives.
  return thread !== String(threadId) || held.has(owner);
}

/** When a process started, so that its number is not taken for another's; undefined when there is none. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie holds nothing any more.
    return state === 'Z' ? undefined : fields[18];
  } catch {
    if (process.platform === 'linux') return undefined;
    return exists(pid) ? '' : undefined;
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

let place: readonly [boot: string, space: string] | undefined;

/** Which run of which machine, and which process numbers, this is. */
function here(): readonly [boot: string, space: string] {
  place ??= [
    read(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
    read(() => readlinkSync('/proc/self/ns/pid')),
  ];
  return place;
}

function read(what: () => string): string {
  try {
    return what()
      .replaceAll(/[^\da-f]/g, '')
      .slice(0, 16);
  } catch {
    return '';
  }
}
