import { constants, lstatSync } from 'node:fs';
import type { Clock } from '../../common/clock.ts';
import type { DeviceBehaviour } from '../behaviour.ts';
import { type Generation, gapsWithin, NO_GAPS, SparseIndex } from './generation.ts';
import { beginLast, type Mark, nextBlock, readMark, writeLast, writeMark } from './high-water-mark.ts';
import { type DiskIo, DURABLE, ifPresent, isUnwritable, opened, putInPlace, removeUnfinished } from './io.ts';
import { recover, scanEvents } from './recovery.ts';

// A timer closes idle logs, so that thousands of idle robots hold no file descriptors.

const SWEEP_MS = 1_000;
/** Maximum number of open log files; beyond, the process closes the least recently used file. */
const OPEN_AT_MOST = 512;

/** Last use of each open log file, in milliseconds of `performance.now`, oldest first. */
const open = new Map<LogFile, number>();
let sweeper: NodeJS.Timeout | undefined;

function sweep(moment: number, atMost: number): void {
  let closed = 0;
  for (const [log, used] of open) {
    if (closed >= atMost) break;
    if (used > moment || log.busy) continue;
    log.release();
    closed += 1;
  }
  if (open.size > 0) return;
  clearInterval(sweeper);
  sweeper = undefined;
}

export const LOG_FILE = 'events.jsonl';

export interface Incarnation {
  directory: string;
  io: DiskIo;
  /** True if writes wait for the disk; otherwise they stop at the page cache, which a machine crash loses. */
  durable: boolean;
  isNew?: boolean;
  clock: Clock;
  behaviour: DeviceBehaviour;
  onNotice(notice: string, error?: unknown): void;
}

export class LogFile {
  readonly path: string;
  generation: Generation;
  /** True during work on the file, so that the timer for idle logs leaves the file open. */
  busy = false;
  readonly #options: Incarnation;
  #fd: number | undefined;
  #reserved = 0;
  #block = 0;
  #marked = false;
  #unnoted = false;
  /** True if unwanted bytes may follow the last stored event, from a torn line or a failed write. */
  #uncut = false;
  /** True after a failed write, whose bytes may reach the disk even after truncation. */
  #failed = false;
  #unended = false;
  #unsynced = false;

  constructor(options: Incarnation) {
    const { directory, io } = options;
    const { highest } = options.behaviour.log;
    this.#options = options;
    this.path = `${directory}/${LOG_FILE}`;
    if (options.isNew) {
      this.generation = emptyAfter(highest(0, undefined, true));
      return;
    }
    const mark = readMark(directory);
    this.#marked = mark !== undefined;
    const found = ifPresent(this.path, () => {
      if (!lstatSync(this.path).isFile())
        throw new Error(`${this.path} is not a file; remove it, or name another directory`);
      using file = opened(io, this.path, 'r');
      return this.#recover(file.fd, mark);
    });
    this.generation = found ?? emptyAfter(highest(0, mark, true));
    try {
      removeUnfinished(io, directory);
      // Adds a missing last line break; a torn line stays until the next write, as a sign that ids may be lost.
      if (this.#unended) {
        using file = opened(io, this.path, this.#flags);
        this.#repair(file.fd);
      }
    } catch (error) {
      if (!isUnwritable(error)) throw error;
      options.onNotice(`${this.path} takes no events as it is`, error);
    }
  }

  async reserve(id: number): Promise<void> {
    if (id <= this.#reserved) return;
    const { io, directory, durable } = this.#options;
    this.#block = nextBlock(this.#block);
    const { latest, gaps } = this.generation;
    const mark = { highest: id + this.#block, from: latest, clean: false, durable, gaps };
    if (this.#reserved === 0) await beginLast(io, directory, latest, durable);
    // Waits for the disk if a mark file exists, because a crash could bring back the old mark, which is too low.
    await writeMark(io, directory, mark, durable || this.#marked);
    this.#marked = true;
    this.#reserved = mark.highest;
  }

  /** Appends lines, which readers ignore until the caller updates `generation`. */
  async write(lines: Buffer, last: number): Promise<void> {
    const fd = await this.#open();
    await this.#cut(fd);
    this.#uncut = true;
    this.#failed = true;
    const { io, directory, durable, onNotice } = this.#options;
    if (durable) await io.store(fd, lines, this.generation.bytes);
    else io.write(fd, lines, this.generation.bytes);
    this.#uncut = false;
    this.#failed = false;
    if (!durable) return;
    try {
      writeLast(io, directory, last);
    } catch (error) {
      if (!this.#unnoted) onNotice(`cannot note the last id of ${this.path} beside it`, error);
      this.#unnoted = true;
    }
  }

  /** Removes the bytes of a failed write; the next write repeats a removal that fails. */
  async cutBack(): Promise<void> {
    if (this.#fd !== undefined) await this.#cut(this.#fd);
  }

  /**
   * Removes unwanted bytes after the last event. After a failed write without `durable`, syncs the removal before new
   * events receive the same ids.
   */
  async #cut(fd: number): Promise<void> {
    const { io, directory, durable } = this.#options;
    this.#repair(fd);
    if (this.#failed && !durable) {
      await io.sync(fd);
      await io.syncDirectory(directory);
    }
    this.#failed = false;
  }

  /** Removes events before the id `from`; renames a new file over the log, so that a crash leaves a complete log. */
  async keep(from: number): Promise<void> {
    const { io, durable } = this.#options;
    await this.reserve(this.generation.latest);
    const fd = await this.#open();
    const old = this.generation;
    const end = old.bytes;
    let earliest: number | undefined;
    let cut = end;
    const start = old.index.offsetBefore(from - 1);
    scanEvents({ io, fd, from: start, to: end, after: from - 1 }, ({ id }, offset) => {
      earliest = id;
      cut = offset;
      return false;
    });
    if (cut === 0) return;
    const fill = async (copy: number): Promise<void> => {
      // Bytes that a compaction copies at once, before other robots can work.
      const buffer = Buffer.allocUnsafe(Math.min(262_144, end - cut));
      for (let at = cut; at < end; ) {
        const got = await io.load(fd, buffer, 0, Math.min(buffer.length, end - at), at);
        if (got === 0) throw new Error(`the log is shorter than the ${end} bytes that were stored in it`);
        await io.store(copy, buffer.subarray(0, got), at - cut);
        at += got;
      }
      if (durable) await io.sync(copy);
    };
    await putInPlace(io, this.path, undefined, fill, () => {
      // Runs in the tick of the rename, so that readers know which file they open.
      const index = new SparseIndex();
      if (earliest !== undefined) index.note(earliest, 0);
      index.takeOver(old.index, cut);
      const gaps = gapsWithin(old.gaps, earliest ?? old.latest);
      this.generation = { bytes: end - cut, earliest, latest: old.latest, gaps, index };
      this.#unsynced = true;
      this.release(); // closes the old file, which has lost its name
    });
    await this.#syncDirectory();
  }

  /** Writes the exact high-water mark; rejects while a log without `durable` may contain bytes of a failed write. */
  async seal(): Promise<void> {
    this.release();
    if (this.#reserved === 0) return;
    const { io, directory, durable } = this.#options;
    if (this.#failed && !durable) throw new Error(`${this.path} may still hold what a failed write has left`);
    const { latest, gaps } = this.generation;
    await writeMark(io, directory, { highest: latest, from: latest, clean: true, durable, gaps }, durable);
    this.#reserved = 0;
  }

  release(): void {
    if (this.#fd === undefined) return;
    open.delete(this);
    this.#options.io.close(this.#fd);
    this.#fd = undefined;
  }

  #recover(fd: number, mark: Mark | undefined): Generation {
    const { io, behaviour, onNotice } = this.#options;
    const { generation, unended, notices } = recover(io, fd, mark, behaviour.log);
    for (const notice of notices) onNotice(`${this.path}: ${notice}`);
    const size = io.size(fd);
    const opening = behaviour.log.opening(generation.bytes < size);
    if (opening === 'keep') return { ...generation, bytes: size };
    this.#unended = unended && opening === 'repair';
    this.#uncut = opening === 'empty' || generation.bytes < size;
    return opening === 'empty' ? emptyAfter(generation.latest) : generation;
  }

  #repair(fd: number): void {
    const { io } = this.#options;
    if (this.#uncut) io.truncate(fd, this.generation.bytes);
    this.#uncut = false;
    if (!this.#unended) return;
    io.write(fd, Buffer.from('\n'), this.generation.bytes);
    this.generation.bytes += 1;
    this.#unended = false;
  }

  get #flags(): number {
    return (this.#options.durable ? DURABLE : constants.O_RDWR) | NO_LINK;
  }

  async #open(): Promise<number> {
    const { io, onNotice } = this.#options;
    this.#fd ??= ifPresent(this.path, () => io.open(this.path, this.#flags));
    if (this.#fd === undefined) {
      this.#fd = io.open(this.path, this.#flags | constants.O_CREAT | constants.O_EXCL);
      this.#unsynced = true;
      const { bytes, latest } = this.generation;
      if (bytes > 0) {
        onNotice(`${this.path} is missing, and its events are lost; the log restarts after ${latest}`);
        this.generation = emptyAfter(latest);
      }
    }
    open.delete(this);
    open.set(this, performance.now());
    if (open.size > OPEN_AT_MOST) sweep(Number.POSITIVE_INFINITY, open.size - OPEN_AT_MOST);
    sweeper ??= setInterval(() => sweep(performance.now() - SWEEP_MS, open.size), SWEEP_MS).unref();
    const fd = this.#fd;
    await this.#syncDirectory();
    return fd;
  }

  /** Syncs the directory after a new file, because a crash could lose the file's directory entry. */
  async #syncDirectory(): Promise<void> {
    const { io, directory, durable } = this.#options;
    if (!this.#unsynced) return;
    if (durable) await io.syncDirectory(directory);
    this.#unsynced = false;
  }
}

/** Refuses a symbolic link, whose target may belong to other programs. */
const NO_LINK = constants.O_NOFOLLOW ?? 0;

const emptyAfter = (latest: number): Generation => {
  return { bytes: 0, earliest: undefined, latest, gaps: NO_GAPS, index: new SparseIndex() };
};
