/** The file of an event log: opened when needed, written at its durable end, replaced by compaction. */

import { constants, lstatSync } from 'node:fs';
import type { Clock } from '../../common/clock.ts';
import type { DeviceBehaviour } from '../behaviour.ts';
import { type Generation, gapsWithin, NO_GAPS, SparseIndex } from './generation.ts';
import { beginLast, type Mark, nextBlock, readMark, writeLast, writeMark } from './high-water-mark.ts';
import { type DiskIo, DURABLE, ifPresent, isUnwritable, putInPlace, removeUnfinished } from './io.ts';
import { recover, scanEvents } from './recovery.ts';

// Compaction: the newest events are copied to a new file, made durable, and renamed over the log. A crash before the
// rename leaves the old log, a crash after it the new one; both are whole.

/** Bytes copied at once; other robots' disks get their turn between two portions. */
const COPY_BYTES = 262_144;

export interface OpenLog {
  io: DiskIo;
  fd: number;
  generation: Generation;
}

/** Where a compaction cuts: the first event to keep, and its offset. */
export interface Cut {
  id: number | undefined;
  offset: number;
}

/** The first event at or above `from`, and where it starts; the end of the log when there is none. */
export function cutAt({ io, fd, generation }: OpenLog, from: number): Cut {
  let cut: Cut = { id: undefined, offset: generation.bytes };
  const start = generation.index.offsetBefore(from - 1);
  scanEvents({ io, fd, from: start, to: generation.bytes, after: from - 1 }, ({ id }, offset) => {
    cut = { id, offset };
    return false;
  });
  return cut;
}

/** The log from `cut` on. */
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

/** Copies the stored bytes from `from` on to the file `copy`. */
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

// Open log files of all devices of the process. A busy robot keeps its log open and closes it soon after, so that
// thousands of idle robots hold no descriptors. One timer serves all of them, and runs only while a log is open.

const SWEEP_MS = 1_000;
/** Logs open at once in this process; beyond that, the idle one that was used longest ago is closed. */
const OPEN_AT_MOST = 512;

/** When each open log was used last, milliseconds of `performance.now`; the one used longest ago comes first. */
const open = new Map<LogFile, number>();
let sweeper: NodeJS.Timeout | undefined;

/** Notes that the log is used now. */
function touch(log: LogFile): void {
  open.delete(log);
  open.set(log, performance.now());
  if (open.size > OPEN_AT_MOST) sweep(Number.POSITIVE_INFINITY, open.size - OPEN_AT_MOST);
  sweeper ??= setInterval(() => sweep(performance.now() - SWEEP_MS, open.size), SWEEP_MS).unref();
}

/** Closes logs that were not used since `moment`, and `atMost` so many; one that is busy stays open. */
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

/** What the parts of one incarnation share that keep something in the robot's directory. */
export interface Incarnation {
  directory: string;
  io: DiskIo;
  /**
   * Whether what is stored is on the disk. Otherwise it is in the page cache, which survives the process but not the
   * machine.
   */
  durable: boolean;
  /** The directory is new, so there is nothing to recover. */
  isNew?: boolean;
  clock: Clock;
  behaviour: DeviceBehaviour;
  /** Called with repairs and failures, for the robot's own log. */
  onNotice(notice: string, error?: unknown): void;
}

/** The current file of one log, with its high-water mark. */
export class LogFile {
  readonly path: string;
  generation: Generation;
  /** Set while an operation is under way; the file of an idle log may be closed at any time. */
  busy = false;
  readonly #options: Incarnation;
  #fd: number | undefined;
  #reserved = 0;
  #block = 0;
  /** There is a mark already. */
  #marked = false;
  /** The last id could not be noted, and that was said. */
  #unnoted = false;
  /** There may be more behind the last stored event: a torn line, or the rest of a failed write. */
  #uncut = false;
  /** The last write failed, and the disk may hold some of it, whatever was cut off since. */
  #failed = false;
  /** The last stored event lacks its line break. */
  #unended = false;
  /** The name leads to a new file, and the disk may not know that yet. */
  #unsynced = false;

  /** Throws the system's error when the log exists and cannot be read or repaired. */
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

  /** Makes sure that ids up to `id` are never assigned again, even if the log is lost. */
  async reserve(id: number): Promise<void> {
    if (id <= this.#reserved) return;
    const { io, directory, durable } = this.#options;
    this.#block = nextBlock(this.#block);
    const { latest, gaps } = this.generation;
    const mark = { highest: id + this.#block, from: latest, clean: false, durable, gaps };
    if (this.#reserved === 0) await beginLast(io, directory, latest, durable);
    // Only the first mark of a new robot may get lost with its machine: a later one must never be taken for the one
    // before.
    await writeMark(io, directory, mark, durable || this.#marked);
    this.#marked = true;
    this.#reserved = mark.highest;
  }

  /**
   * Writes `lines`, up to the event `last`, behind the stored events. Resolves when they are as durable as promised;
   * readers do not see them yet.
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

  /** Cuts off what a failed write has left. Rejects when it cannot; the next write tries again first. */
  async cutBack(): Promise<void> {
    if (this.#fd !== undefined) await this.#cut(this.#fd);
  }

  /**
   * What a failed write has left holds ids that are given out again, so it must be gone before they are: from the file,
   * and the name from an older file that a compaction has replaced since. A durable log waits with its next write.
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

  /** Compacts to the events from `from` on. */
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
      // In the same tick as the rename, so that a reader that opens the name next knows which file it leads to.
      this.generation = generationFrom(log.generation, cut);
      this.#unsynced = true;
      this.release(); // the open file is the old one, which has no name any more
    });
    await this.#syncDirectory();
  }

  /**
   * Writes the exact highest id to the mark, if ids were assigned since the log was opened. Rejects when it cannot be
   * known.
   */
  async seal(): Promise<void> {
    this.release();
    if (this.#reserved === 0) return;
    const { io, directory, durable } = this.#options;
    if (this.#failed && !durable) throw new Error(`${this.path} may still hold what a failed write has left`);
    const { latest, gaps } = this.generation;
    await writeMark(io, directory, { highest: latest, from: latest, clean: true, durable, gaps }, durable);
    this.#reserved = 0;
  }

  /** Closes the file. */
  release(): void {
    if (this.#fd === undefined) return;
    open.delete(this);
    this.#options.io.close(this.#fd);
    this.#fd = undefined;
  }

  /** The events are stored, so a failure costs nothing but this sign of what may be lost later. */
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
   * Tidies up after a crash. A torn end stays until the next write, which records the lost ids in the mark. Until then
   * only the torn end shows that they were lost.
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

  /** Begins a new file. If there was one before, a user has removed it with its events. */
  #begin(): void {
    this.#unsynced = true;
    const { bytes, latest } = this.generation;
    if (bytes === 0) return;
    this.#options.onNotice(`${this.path} is missing, and its events are lost; the log restarts after ${latest}`);
    this.generation = emptyAfter(latest);
  }

  /** An event counts as stored only when the name of its file is on the disk as well. */
  async #syncDirectory(): Promise<void> {
    const { io, directory, durable } = this.#options;
    if (!this.#unsynced) return;
    if (durable) await io.syncDirectory(directory);
    this.#unsynced = false;
  }
}

/** A log is no link: what it leads to is not ours to cut or to write to. */
const NO_LINK = constants.O_NOFOLLOW ?? 0;

function openLog(io: DiskIo, path: string): number {
  if (!lstatSync(path).isFile()) throw new Error(`${path} is not a file; remove it, or name another directory`);
  return io.open(path, 'r');
}

const emptyAfter = (latest: number): Generation => {
  return { bytes: 0, earliest: undefined, latest, gaps: NO_GAPS, index: new SparseIndex() };
};
