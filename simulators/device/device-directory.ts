/**
 * Robot's directory for one incarnation of its agent. Created with the first write. While locked, no other device may
 * use it. After a kill it is fenced: operations under way change nothing more.
 */

import { existsSync, mkdirSync, readFileSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { threadId } from 'node:worker_threads';
import { type DiskIo, errorCode, isUnwritable } from './log/io.ts';

// Lock of a robot's directory: a symbolic link `lock` whose target names the owner. Unlike a file, a link appears
// together with its content; unlike a socket, it needs no descriptor. The next device takes over the lock of a crashed
// owner. Machines or containers that share a directory cannot see each other's processes, so the lock does not separate
// them.

/** A living device uses the directory. */
export class DirectoryInUseError extends Error {
  override name = 'DirectoryInUseError';
  readonly pid: number;
  constructor(message: string, pid: number) {
    super(message);
    this.pid = pid;
  }
}

export type Lock = ReturnType<typeof lockDirectory>;

const held = new Set<string>();
let locks = 0;
const SELF = `${process.pid}-${startOf(process.pid)}-${threadId}`;

/**
 * `name`: of the link, for a directory with several locks. Throws DirectoryInUseError, or the system's error if the
 * directory cannot hold a lock.
 */
export function lockDirectory(directory: string, name = 'lock') {
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
    release: (): void => {
      if (held.delete(owner) && ownerOf(path) === owner) unlinkSync(path);
    },
    /** Leaves the lock behind like a crash, with its owner dead. */
    abandon: (): void => void held.delete(owner),
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
    if (isAlive(other)) {
      const pid = Number.parseInt(other, 10);
      const user = pid === process.pid ? 'another device of this process' : `process ${pid}`;
      const where = `${dirname(path)} is in use by ${user}`;
      throw new DirectoryInUseError(`${where}; give each device a directory of its own`, pid);
    }
    // Several processes may find the owner dead; only the holder of this takeover lock replaces the link.
    const takeover = `${path}.${other}`;
    acquire(takeover, owner);
    if (ownerOf(path) === other) {
      renameSync(takeover, path);
      return;
    }
    unlinkSync(takeover);
  }
}

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
  // Devices of another thread are invisible here, so they count as alive while the process is.
  return thread !== String(threadId) || held.has(owner);
}

/** Start time of a process, '' if there is none; distinguishes the owner from a later process with its number. */
function startOf(pid: number): string {
  try {
    if (process.platform !== 'linux') return process.kill(pid, 0) ? 'unknown' : '';
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie is dead; it only waits for its parent.
    return state === 'Z' ? '' : (fields[18] ?? '');
  } catch (error) {
    return errorCode(error) === 'EPERM' ? 'unknown' : '';
  }
}

/** The agent was killed, so the operation had no effect. */
export class KilledError extends Error {
  override name = 'KilledError';
}

/**
 * File operations of one incarnation. After fencing, all but `open` for reading, `size` and `read` throw KilledError.
 */
export class DeviceDirectory implements DiskIo {
  readonly isNew: boolean;
  readonly #directory: string;
  readonly #io: DiskIo;
  #lock: Lock | undefined;
  #killed = false;
  #writing: Promise<void> | undefined;
  /** Topmost directory created, until its name is on the disk. */
  #made: string | undefined;

  constructor(directory: string, io: DiskIo) {
    this.#directory = directory;
    this.#io = io;
    this.isNew = !existsSync(directory);
    if (this.isNew) return;
    try {
      this.#takeLock();
    } catch (error) {
      // An unwritable directory takes no events, but its events can be served.
      if (!isUnwritable(error)) throw error;
    }
  }

  check(): void {
    if (this.#killed) throw new KilledError('the agent was killed');
  }

  /**
   * Stops this incarnation from changing the directory, and leaves it like a crash. The kernel completes a write under
   * way even for a killed process: the result resolves then; undefined without one.
   */
  fence(): Promise<void> | undefined {
    this.#killed = true;
    this.#lock?.abandon();
    return this.#writing;
  }

  release(): void {
    if (!this.#killed) this.#lock?.release();
    this.#lock = undefined;
  }

  open(path: string, flags: string | number, mode?: number): number {
    if (flags !== 'r') this.#takeLock();
    return this.#io.open(path, flags, mode);
  }

  close(fd: number): void {
    this.#io.close(fd);
  }

  size(fd: number): number {
    return this.#io.size(fd);
  }

  read(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number {
    return this.#io.read(fd, buffer, offset, length, position);
  }

  async load(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    this.check();
    return await this.#io.load(fd, buffer, offset, length, position);
  }

  write(fd: number, buffer: Uint8Array, position: number): void {
    this.check();
    this.#io.write(fd, buffer, position);
  }

  async store(fd: number, buffer: Uint8Array, position: number): Promise<void> {
    this.check();
    const writing = this.#io.store(fd, buffer, position);
    this.#writing = writing.catch(() => {});
    await writing;
    this.#writing = undefined;
  }

  truncate(fd: number, length: number): void {
    this.check();
    this.#io.truncate(fd, length);
  }

  rename(from: string, to: string): void {
    this.#takeLock();
    this.#io.rename(from, to);
  }

  makeDirectory(path: string, mode?: number): void {
    this.#takeLock();
    this.#io.makeDirectory(path, mode);
  }

  link(target: string, path: string): void {
    this.#takeLock();
    this.#io.link(target, path);
  }

  remove(path: string): void {
    this.#takeLock();
    this.#io.remove(path);
  }

  async sync(fd: number): Promise<void> {
    this.check();
    await this.#io.sync(fd);
  }

  async syncDirectory(path: string): Promise<void> {
    this.check();
    await this.#io.syncDirectory(path);
    const made = this.#made;
    if (made === undefined) return;
    for (let at = this.#directory; at.length >= made.length; at = dirname(at))
      await this.#io.syncDirectory(dirname(at));
    this.#made = undefined;
  }

  #takeLock(): void {
    this.check();
    if (this.#lock) return;
    this.#made ??= mkdirSync(this.#directory, { recursive: true });
    this.#lock = lockDirectory(this.#directory);
  }
}
