/**
 * A robot's directory as one incarnation of its agent sees it. The directory is made with the first thing to write. While it is
 * locked, no other device may use it. After a kill it is fenced: nothing in it changes any more, whatever was under way.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Lock, lockDirectory } from './lock.ts';
import { type DiskIo, isUnwritable } from './log/io.ts';

/** The agent was killed, so the operation did not happen. */
export class KilledError extends Error {
  override name = 'KilledError';
}

/** File operations of one incarnation. All but `open` for reading, `size` and `read` throw KilledError once it was fenced. */
export class DeviceDirectory implements DiskIo {
  /** The directory did not exist, so no earlier incarnation can have left anything. */
  readonly isNew: boolean;
  readonly #directory: string;
  readonly #io: DiskIo;
  #lock: Lock | undefined;
  #killed = false;
  #writing: Promise<void> | undefined;
  /** The topmost directory that was made, until its name is on the disk. */
  #made: string | undefined;

  /** Throws DirectoryInUseError. */
  constructor(directory: string, io: DiskIo) {
    this.#directory = directory;
    this.#io = io;
    this.isNew = !existsSync(directory);
    if (this.isNew) return;
    try {
      this.#takeLock();
    } catch (error) {
      // A directory that cannot be written takes no events either, but its events can be served.
      if (!isUnwritable(error)) throw error;
    }
  }

  /** Throws KilledError once the directory was fenced. */
  check(): void {
    if (this.#killed) throw new KilledError('the agent was killed');
  }

  /**
   * Keeps this incarnation away from the directory, and leaves it as a crash does. The kernel finishes a write that it has begun,
   * even for a killed process: the result resolves when it has; undefined when there is none.
   */
  fence(): Promise<void> | undefined {
    this.#killed = true;
    this.#lock?.abandon();
    return this.#writing;
  }

  /** Gives the lock back, at the end of an orderly stop. */
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
