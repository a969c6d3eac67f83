/**
 * A robot's directory as one incarnation of its agent has it: nothing is made before there is something to write, nobody else
 * may use it, and from the moment of a kill nothing in it can be touched, whatever was under way.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Lock, lockDirectory } from './lock.ts';
import { type DiskIo, isUnwritable } from './log/io.ts';

/** The agent was killed; it is gone, and what it was about to do never happens. */
export class KilledError extends Error {
  override name = 'KilledError';
}

export class Home implements DiskIo {
  /** There was no directory: nothing can be left from before. */
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
      this.#claim();
    } catch (error) {
      // It takes no events either, but those it has can be read.
      if (!isUnwritable(error)) throw error;
    }
  }

  /** Throws KilledError once it was cut. */
  check(): void {
    if (this.#killed) throw new KilledError('the agent was killed');
  }

  /**
   * Puts the directory out of reach, and leaves it as a crash does. A write that the kernel has begun is finished even for a
   * process that is killed: the result resolves when it is; undefined when there is none.
   */
  cut(): Promise<void> | undefined {
    this.#killed = true;
    this.#lock?.abandon();
    return this.#writing;
  }

  /** Gives the directory back, at the end of an orderly stop. */
  release(): void {
    if (!this.#killed) this.#lock?.release();
    this.#lock = undefined;
  }

  open(path: string, flags: string | number, mode?: number): number {
    if (flags !== 'r') this.#claim();
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
    this.#claim();
    this.#io.rename(from, to);
  }

  makeDirectory(path: string, mode?: number): void {
    this.#claim();
    this.#io.makeDirectory(path, mode);
  }

  link(target: string, path: string): void {
    this.#claim();
    this.#io.link(target, path);
  }

  remove(path: string): void {
    this.#claim();
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

  #claim(): void {
    this.check();
    if (this.#lock) return;
    this.#made ??= mkdirSync(this.#directory, { recursive: true });
    this.#lock = lockDirectory(this.#directory);
  }
}
