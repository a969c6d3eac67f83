/**
 * One device at a time for a robot's directory. The lock is a symbolic link `lock` whose target names its owner. Unlike a file, a
 * link appears together with its content; unlike a socket, it needs no descriptor. A crash leaves it behind; the next device sees
 * that the owner is dead and takes the lock over. Machines or containers that share a directory do not see each other's processes,
 * so they are not kept apart.
 */
import { readFileSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { threadId } from 'node:worker_threads';
import { errorCode } from './log/io.ts';

/** A living device uses the directory. */
export class DirectoryInUseError extends Error {
  override name = 'DirectoryInUseError';
  /** The process that uses it. */
  readonly pid: number;
  constructor(message: string, pid: number) {
    super(message);
    this.pid = pid;
  }
}

export interface Lock {
  /** Removes the lock. */
  release(): void;
  /** Leaves the lock behind as a crash does: its owner counts as dead. */
  abandon(): void;
}

/** Owners in this thread that are alive. */
const held = new Set<string>();
let locks = 0;
const SELF = `${process.pid}-${startOf(process.pid)}-${threadId}`;

/**
 * `name`: of the link, for a directory with several locks. Throws DirectoryInUseError, or the system's error when the directory cannot
 * hold a lock.
 */
export function lockDirectory(directory: string, name = 'lock'): Lock {
  const path = `${directory}/${name}`;
  locks += 1;
  const owner = `${SELF}-${locks}`;
  held.add(owner);
  try {
    acquire(path, owner);
  } catch (error) {
    held.delete(owner);
    throw error;
  }
  return {
    release: () => {
      if (held.delete(owner) && ownerOf(path) === owner) unlinkSync(path);
    },
    abandon: () => void held.delete(owner),
  };
}

function acquire(path: string, owner: string): void {
  for (;;) {
    try {
      symlinkSync(owner, path);
      return;
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
    const other = ownerOf(path);
    if (other === undefined) continue;
    if (isAlive(other)) throw inUse(dirname(path), other);
    // Several processes may see that the owner is dead. Only the one that holds the lock for this takeover replaces the link.
    const takeover = `${path}.${other}`;
    acquire(takeover, owner);
    if (ownerOf(path) === other) {
      renameSync(takeover, path);
      return;
    }
    unlinkSync(takeover);
  }
}

function inUse(directory: string, owner: string): DirectoryInUseError {
  const pid = Number.parseInt(owner, 10);
  const user = pid === process.pid ? 'another device of this process' : `process ${pid}`;
  return new DirectoryInUseError(`${directory} is in use by ${user}; give each device a directory of its own`, pid);
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
  const [pid, start, thread] = owner.split('-');
  if (start === '' || start !== startOf(Number(pid))) return false;
  if (Number(pid) !== process.pid) return true;
  // The devices of another thread are not known here, so they count as alive while the process is.
  return thread !== String(threadId) || held.has(owner);
}

/** When a process started, '' when there is none. So a process with the number of a dead owner is not taken for the owner. */
function startOf(pid: number): string {
  try {
    if (process.platform !== 'linux') return process.kill(pid, 0) ? 'unknown' : '';
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie is dead, and only waits for its parent.
    return state === 'Z' ? '' : (fields[18] ?? '');
  } catch (error) {
    return errorCode(error) === 'EPERM' ? 'unknown' : '';
  }
}
