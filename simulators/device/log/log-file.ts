/** File of an event log: opened on demand, appended to, and replaced by compaction. */

import { constants, lstatSync } from 'node:fs';
import type { Clock } from '../../common/clock.ts';
import type { DeviceBehaviour } from '../behaviour.ts';
import { type Generation, gapsWithin, NO_GAPS, SparseIndex } from './generation.ts';
import { beginLast, type Mark, nextBlock, readMark, writeLast, writeMark } from './high-water-mark.ts';
import { type DiskIo, DURABLE, ifPresent, isUnwritable, putInPlace, removeUnfinished } from './io.ts';
import { recover, scanEvents } from './recovery.ts';

// Compaction copies the newest events to a new file, then renames the new file over the log, so that a crash leaves a
// complete log.

/** Bytes that a compaction copies at a time, so that other robots can work between. */
const COPY_BYTES = 262_144;

export interface OpenLog {
  io: DiskIo;
  fd: number;
  generation: Generation;
}

export interface Cut {
  id: number | undefined;
  offset: number;
}

export function cutAt({ io, fd, generation }: OpenLog, from: number): Cut {
  let cut: Cut = { id: undefined, offset: generation.bytes };
  const start = generation.index.offsetBefore(from - 1);
  scanEvents({ io, fd, from: start, to: generation.bytes, after: from - 1 }, ({ id }, offset) => {
    cut = { id, offset };
    return false;
  });
  return cut;
}

export function generationFrom(old: Generation, cut: Cut): Generation {
  const index = new SparseIndex();
  if (cut.id !== undefined) index.note(cut.id, 0);
  index.takeOver(old.index, cut.offset);
  return {
    bytes: old.bytes - cut.offset,
    earliest: cut.id,
    latest: old.latest,
    gaps: gapsWithin(old.gaps, cut.id ?? old.latest),
    index,
  };
}

export async function copyBytes({ io, fd, generation }: OpenLog, from: number, copy: number): Promise<void> {
  const bytes = generation.bytes - from;
  const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, bytes));
  for (let done = 0; done < bytes; ) {
    const got = await io.load(fd, buffer, 0, Math.min(buffer.length, bytes - done), from + done);
    if (got === 0) throw new Error(`the log is shorter than the ${generation.bytes} bytes that were stored in it`);
    await io.store(copy, buffer.subarray(0, got), done);
    done += got;
  }
}

// A timer closes idle logs, so that thousands of idle robots hold no file descriptors.

const SWEEP_MS = 1_000;
/** Maximum number of open log files; beyond, the process closes the least recently used file. */
const OPEN_AT_MOST = 512;

/** Time of the last use of each open log (milliseconds of `performance.now`), oldest first. */
const open = new Map<LogFile, number>();
let sweeper: NodeJS.Timeout | undefined;

function touch(log: LogFile): void {
  open.delete(log);
  open.set(log, performance.now());
  if (open.size > OPEN_AT_MOST) sweep(Number.POSITIVE_INFINITY, open.size - OPEN_AT_MOST);
  sweeper ??= setInterval(() => sweep(performance.now() - SWEEP_MS, open.size), SWEEP_MS).unref();
}

/** Closes at most `atMost` idle logs, last used before `moment` (milliseconds of `performance.now`). */
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
  /** True: writes wait for the disk. False: writes stop at the page cache, which a machine crash loses. */
  durable: boolean;
  isNew?: boolean;
  clock: Clock;
  behaviour: DeviceBehaviour;
  onNotice(notice: string, error?: unknown): void;
}

export class LogFile {
  readonly path: string;
  generation: Generation;
  /** True while the event log works; the timer for idle logs then leaves the file open. */
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
  /** True until the directory entry of a new log file is on the disk. */
  #unsynced = false;

  /** Opens an existing log. Throws if the log cannot be read or repaired. */
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
    const fd = ifPresent(this.path, () => openLog(io, this.path));
    if (fd === undefined) {
      this.generation = emptyAfter(highest(0, mark, true));
    } else {
      try {
        this.generation = this.#recover(fd, mark);
      } finally {
        io.close(fd);
      }
    }
    try {
      this.#tidy();
    } catch (error) {
      if (!isUnwritable(error)) throw error;
      options.onNotice(`${this.path} takes no events as it is`, error);
    }
  }

  /** Records ids up to `id` as assigned, so that the agent repeats no id after losing the log. */
  async reserve(id: number): Promise<void> {
    if (id <= this.#reserved) return;
    const { io, directory, durable } = this.#options;
    this.#block = nextBlock(this.#block);
    const { latest, gaps } = this.generation;
    const mark = { highest: id + this.#block, from: latest, clean: false, durable, gaps };
    if (this.#reserved === 0) await beginLast(io, directory, latest, durable);
    // Waits for the disk if an older mark file exists, because a crash could restore the older mark.
    await writeMark(io, directory, mark, durable || this.#marked);
    this.#marked = true;
    this.#reserved = mark.highest;
  }

  /** Writes lines to the file; readers ignore the lines until the caller updates `generation`. */
  async write(lines: Buffer, last: number): Promise<void> {
    const fd = await this.#open();
    await this.#cut(fd);
    this.#uncut = true;
    this.#failed = true;
    const { io, durable } = this.#options;
    if (durable) await io.store(fd, lines, this.generation.bytes);
    else io.write(fd, lines, this.generation.bytes);
    this.#uncut = false;
    this.#failed = false;
    if (durable) this.#noteLast(last);
  }

  /** Removes the bytes of a failed write; the next write repeats a failed removal. */
  async cutBack(): Promise<void> {
    if (this.#fd !== undefined) await this.#cut(this.#fd);
  }

  /** Removes the bytes of a failed write, before new events receive the same ids. */
  async #cut(fd: number): Promise<void> {
    const { io, directory, durable } = this.#options;
    this.#repair(fd);
    if (this.#failed && !durable) {
      await io.sync(fd);
      await io.syncDirectory(directory);
    }
    this.#failed = false;
  }

  async keep(from: number): Promise<void> {
    const { io, durable } = this.#options;
    await this.reserve(this.generation.latest);
    const log = { io, fd: await this.#open(), generation: this.generation };
    const cut = cutAt(log, from);
    if (cut.offset === 0) return;
    const fill = async (copy: number): Promise<void> => {
      await copyBytes(log, cut.offset, copy);
      if (durable) await io.sync(copy);
    };
    await putInPlace(io, this.path, undefined, fill, () => {
      // Updates `generation` in the tick of the rename, so that readers know which file they open.
      this.generation = generationFrom(log.generation, cut);
      this.#unsynced = true;
      this.release(); // closes the old file, which has lost its name
    });
    await this.#syncDirectory();
  }

  /** Records the exact highest id at a clean stop. Rejects while the file may contain bytes of a failed write. */
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

  /** Records the last stored id in a separate file; reports a failure instead of throwing. */
  #noteLast(id: number): void {
    const { io, directory, onNotice } = this.#options;
    try {
      writeLast(io, directory, id);
    } catch (error) {
      if (!this.#unnoted) onNotice(`cannot note the last id of ${this.path} beside it`, error);
      this.#unnoted = true;
    }
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

  /** Adds the line break that the last event lacks; leaves a torn line, which shows that ids may be lost. */
  #tidy(): void {
    const { io, directory, durable } = this.#options;
    removeUnfinished(io, directory);
    if (!this.#unended) return;
    const fd = io.open(this.path, (durable ? DURABLE : constants.O_RDWR) | NO_LINK);
    try {
      this.#repair(fd);
    } finally {
      io.close(fd);
    }
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

  async #open(): Promise<number> {
    const { io, durable } = this.#options;
    const flags = (durable ? DURABLE : constants.O_RDWR) | NO_LINK;
    this.#fd ??= ifPresent(this.path, () => io.open(this.path, flags));
    if (this.#fd === undefined) {
      this.#fd = io.open(this.path, flags | constants.O_CREAT | constants.O_EXCL);
      this.#begin();
    }
    touch(this);
    const fd = this.#fd;
    await this.#syncDirectory();
    return fd;
  }

  #begin(): void {
    this.#unsynced = true;
    const { bytes, latest } = this.generation;
    if (bytes === 0) return;
    this.#options.onNotice(`${this.path} is missing, and its events are lost; the log restarts after ${latest}`);
    this.generation = emptyAfter(latest);
  }

  /** Waits until the directory entry of a new log file is on the disk, because a crash could lose the file. */
  async #syncDirectory(): Promise<void> {
    const { io, directory, durable } = this.#options;
    if (!this.#unsynced) return;
    if (durable) await io.syncDirectory(directory);
    this.#unsynced = false;
  }
}

/** Flag that refuses a symbolic link, whose target may belong to other programs. */
const NO_LINK = constants.O_NOFOLLOW ?? 0;

function openLog(io: DiskIo, path: string): number {
  if (!lstatSync(path).isFile()) throw new Error(`${path} is not a file; remove it, or name another directory`);
  return io.open(path, 'r');
}

const emptyAfter = (latest: number): Generation => {
  return { bytes: 0, earliest: undefined, latest, gaps: NO_GAPS, index: new SparseIndex() };
};
