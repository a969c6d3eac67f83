/** File of an event log: opens when needed, takes appends, and gives way to a compacted file. */

import { constants, lstatSync } from 'node:fs';
import type { Clock } from '../../common/clock.ts';
import type { DeviceBehaviour } from '../behaviour.ts';
import { type Generation, gapsWithin, NO_GAPS, SparseIndex } from './generation.ts';
import { beginLast, type Mark, nextBlock, readMark, writeLast, writeMark } from './high-water-mark.ts';
import { type DiskIo, DURABLE, ifPresent, isUnwritable, putInPlace, removeUnfinished } from './io.ts';
import { recover, scanEvents } from './recovery.ts';

// Compaction copies the newest events to a new file, makes it durable, and renames it over the log. A crash before the
// rename leaves the old log, a crash after it the new one, both of them whole.

/** Bytes of one copy, after which other robots' disks get their turn. */
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

/** First event from id `from` on, with its offset; the end of the log if there is none. */
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

// Open log files of all devices of the process. A busy robot keeps its log open, an idle one closes it soon, so that
// thousands of idle robots hold no descriptors. One timer, which runs while a log is open, closes them all.

const SWEEP_MS = 1_000;
/** Open logs of the process, above which the least recently used idle log is closed. */
const OPEN_AT_MOST = 512;

/** Last use of each open log, milliseconds of `performance.now`, least recent first. */
const open = new Map<LogFile, number>();
let sweeper: NodeJS.Timeout | undefined;

function touch(log: LogFile): void {
  open.delete(log);
  open.set(log, performance.now());
  if (open.size > OPEN_AT_MOST) sweep(Number.POSITIVE_INFINITY, open.size - OPEN_AT_MOST);
  sweeper ??= setInterval(() => sweep(performance.now() - SWEEP_MS, open.size), SWEEP_MS).unref();
}

/** Closes at most `atMost` idle logs, unused since `moment`. */
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

/** Options of one run of an agent, for all parts that store in the robot's directory. */
export interface Incarnation {
  directory: string;
  io: DiskIo;
  /** True: stored data is on the disk. False: in the page cache, which survives the process but not the machine. */
  durable: boolean;
  isNew?: boolean;
  clock: Clock;
  behaviour: DeviceBehaviour;
  /** Takes repairs and failures for the robot's own log. */
  onNotice(notice: string, error?: unknown): void;
}

export class LogFile {
  readonly path: string;
  generation: Generation;
  /** True during an operation; an idle log may close its file at any time. */
  busy = false;
  readonly #options: Incarnation;
  #fd: number | undefined;
  #reserved = 0;
  #block = 0;
  #marked = false;
  #unnoted = false;
  /** True if the file may extend beyond the last stored event: by a torn line, or a failed write. */
  #uncut = false;
  /** True after a failed write, part of which may be on the disk despite a truncation since. */
  #failed = false;
  #unended = false;
  /** True if the name refers to a new file and may not be on the disk. */
  #unsynced = false;

  /** Throws the system's error for a log that cannot be read or repaired. */
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

  /** Keeps ids up to `id` from a second assignment, even if the log is lost. */
  async reserve(id: number): Promise<void> {
    if (id <= this.#reserved) return;
    const { io, directory, durable } = this.#options;
    this.#block = nextBlock(this.#block);
    const { latest, gaps } = this.generation;
    const mark = { highest: id + this.#block, from: latest, clean: false, durable, gaps };
    if (this.#reserved === 0) await beginLast(io, directory, latest, durable);
    // Waits for the disk with every mark but a new robot's first, because no mark may give way to its predecessor.
    await writeMark(io, directory, mark, durable || this.#marked);
    this.#marked = true;
    this.#reserved = mark.highest;
  }

  /**
   * Writes `lines`, up to the event `last`, after the stored events. Resolves once they are as durable as promised, but
   * before readers see them.
   */
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

  /** Truncates the rest of a failed write, or rejects and leaves that to the next write. */
  async cutBack(): Promise<void> {
    if (this.#fd !== undefined) await this.#cut(this.#fd);
  }

  /**
   * Removes the rest of a failed write before its ids are assigned again, even from the older file that the name may
   * still refer to after a compaction. A durable log does so by its next write.
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
      // Updates the generation in the tick of the rename, so that the next reader of the name knows its file.
      this.generation = generationFrom(log.generation, cut);
      this.#unsynced = true;
      this.release(); // closes the old file, which has lost its name
    });
    await this.#syncDirectory();
  }

  /** Writes the exact highest id to the mark, if the log has assigned ids. Rejects for an unknown id. */
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

  /** Records the last stored id; a failure loses only this evidence of later losses. */
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

  /**
   * Cleans up after a crash. Leaves a torn end, the only sign of a loss, to the next write, which records the lost ids
   * in the mark.
   */
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

  /** Begins a new file, in place of one that a user has removed with its events. */
  #begin(): void {
    this.#unsynced = true;
    const { bytes, latest } = this.generation;
    if (bytes === 0) return;
    this.#options.onNotice(`${this.path} is missing, and its events are lost; the log restarts after ${latest}`);
    this.generation = emptyAfter(latest);
  }

  /** Puts the file's name on the disk, without which no event counts as stored. */
  async #syncDirectory(): Promise<void> {
    const { io, directory, durable } = this.#options;
    if (!this.#unsynced) return;
    if (durable) await io.syncDirectory(directory);
    this.#unsynced = false;
  }
}

/** Refuses a link, because its target may belong to others. */
const NO_LINK = constants.O_NOFOLLOW ?? 0;

function openLog(io: DiskIo, path: string): number {
  if (!lstatSync(path).isFile()) throw new Error(`${path} is not a file; remove it, or name another directory`);
  return io.open(path, 'r');
}

const emptyAfter = (latest: number): Generation => {
  return { bytes: 0, earliest: undefined, latest, gaps: NO_GAPS, index: new SparseIndex() };
};
