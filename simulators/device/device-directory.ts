/** Robot's directory: a running agent locks the directory, and a killed agent can no longer change any file. */

import { existsSync, mkdirSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { threadId } from 'node:worker_threads';
import { startOf } from '../../harness/common/owner.ts';
import { type DiskIo, errorCode, isUnwritable } from './log/io.ts';

// The lock is a symbolic link to the owner's name, because the kernel creates link and target in one step. The lock
// does not protect a directory that several machines or containers share.

export class DirectoryInUseError extends Error {
  override name = 'DirectoryInUseError';
  readonly code = 'MUSTER_DIRECTORY_IN_USE';
  readonly pid: number;
  constructor(message: string, pid: number) {
    super(message);
    this.pid = pid;
  }
}

export type Lock = ReturnType<typeof lockDirectory>;

const held = new Set<string>();
let locks = 0;
const SELF = `${process.pid}-${startOf(process.pid) ?? ''}-${threadId}`;

/** Throws DirectoryInUseError, Node's system error (e.g. EROFS), or Error if a file has the name of the lock. */
export function lockDirectory(directory: string, name = 'lock') {
  const path = `${directory}/${name}`;
  const owner = `${SELF}-${++locks}`;
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
    // Takes a second lock first, because several processes may try to replace the link of a dead owner at once.
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
  if (start !== String(startOf(Number(pid)))) return false;
  if (Number(pid) !== process.pid) return true;
  // Treats locks of other threads as live, because a thread sees only its own devices.
  return thread !== String(threadId) || held.has(owner);
}

export class KilledError extends Error {
  override name = 'KilledError';
}

/** File operations in a robot's directory; after `fence`, operations that change the directory throw KilledError. */
export class DeviceDirectory implements DiskIo {
  readonly isNew: boolean;
  readonly #directory: string;
  readonly #io: DiskIo;
  #lock: Lock | undefined;
  #killed = false;
  #writing: Promise<void> | undefined;
  /** Topmost created directory; undefined once the disk has stored its name. */
  #made: string | undefined;

  constructor(directory: string, io: DiskIo) {
    this.#directory = directory;
    this.#io = io;
    this.isNew = !existsSync(directory);
    if (this.isNew) return;
    try {
      this.#lockedIo();
    } catch (error) {
      // Goes on without a lock in an unwritable directory, because an agent can only serve stored events there.
      if (!isUnwritable(error)) throw error;
    }
  }

  check(): void {
    if (this.#killed) throw new KilledError('the agent was killed');
  }

  /** Prevents further changes; resolves once the kernel has completed a pending write. */
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
    const io = flags === 'r' ? this.#io : this.#lockedIo();
    return io.open(path, flags, mode);
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
    this.#lockedIo().rename(from, to);
  }

  makeDirectory(path: string, mode?: number): void {
    this.#lockedIo().makeDirectory(path, mode);
  }

  link(target: string, path: string): void {
    this.#lockedIo().link(target, path);
  }

  remove(path: string): void {
    this.#lockedIo().remove(path);
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

  #lockedIo(): DiskIo {
    this.check();
    if (this.#lock) return this.#io;
    this.#made ??= mkdirSync(this.#directory, { recursive: true });
    this.#lock = lockDirectory(this.#directory);
    return this.#io;
  }
}
