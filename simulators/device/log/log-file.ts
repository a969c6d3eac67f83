/** File of an event log: opened on demand, appended to, and replaced by compaction. */

import { constants, lstatSync } from 'node:fs';
import type { Clock } from '../../common/clock.ts';
import type { DeviceBehaviour } from '../behaviour.ts';
import { type Generation, gapsWithin, NO_GAPS, SparseIndex } from './generation.ts';
import { beginLast, type Mark, nextBlock, readMark, writeLast, writeMark } from './high-water-mark.ts';
import { type DiskIo, DURABLE, ifPresent, isUnwritable, putInPlace, removeUnfinished } from './io.ts';
import { recover, scanEvents } from './recovery.ts';

// Compaction copies the newest events to a new file and renames it over the log, so that a crash leaves the old or the
// new log whole.

/** Bytes copied before other robots get their turn. */
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

// A timer closes idle logs, so that thousands of idle robots hold no descriptors.

const SWEEP_MS = 1_000;
/** Above this number, the process closes the log that was idle longest. */
const OPEN_AT_MOST = 512;

/** Last use of each open log, in milliseconds of `performance.now`, least recent first. */
const open = new Map<LogFile, number>();
let sweeper: NodeJS.Timeout | undefined;

function touch(log: LogFile): void {
  open.delete(log);
  open.set(log, performance.now());
  if (open.size > OPEN_AT_MOST) sweep(Number.POSITIVE_INFINITY, open.size - OPEN_AT_MOST);
  sweeper ??= setInterval(() => sweep(performance.now() - SWEEP_MS, open.size), SWEEP_MS).unref();
}

/** `moment`: milliseconds of `performance.now`; a log used later stays open. */
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
  /** True waits for the disk; false trusts the page cache, which survives the process but not the machine. */
  durable: boolean;
  isNew?: boolean;
  clock: Clock;
  behaviour: DeviceBehaviour;
  onNotice(notice: string, error?: unknown): void;
}

export class LogFile {
  readonly path: string;
  generation: Generation;
  /** The sweep closes the file of a log that is not busy. */
  busy = false;
  readonly #options: Incarnation;
  #fd: number | undefined;
  #reserved = 0;
  #block = 0;
  #marked = false;
  #unnoted = false;
  /** True if bytes may follow the last stored event, from a torn line or a failed write. */
  #uncut = false;
  /** True after a failed write, whose bytes may survive on the disk despite truncation. */
  #failed = false;
  #unended = false;
  /** True until the name of a new file is on the disk. */
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

  /** Records ids up to `id` as assigned, so that a lost log cannot repeat them. */
  async reserve(id: number): Promise<void> {
    if (id <= this.#reserved) return;
    const { io, directory, durable } = this.#options;
    this.#block = nextBlock(this.#block);
    const { latest, gaps } = this.generation;
    const mark = { highest: id + this.#block, from: latest, clean: false, durable, gaps };
    if (this.#reserved === 0) await beginLast(io, directory, latest, durable);
    // A mark waits for the disk unless it is a new robot's first, because an older mark could repeat ids.
    await writeMark(io, directory, mark, durable || this.#marked);
    this.#marked = true;
    this.#reserved = mark.highest;
  }

  /** Resolves once the lines are durable, but before readers see them. */
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

  /** Truncates the rest of a failed write; the next write retries a failed truncation. */
  async cutBack(): Promise<void> {
    if (this.#fd !== undefined) await this.#cut(this.#fd);
  }

  /** Removes the rest of a failed write before its ids are assigned again. */
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
      // Updates the generation in the tick of the rename, so that readers know which file they open.
      this.generation = generationFrom(log.generation, cut);
      this.#unsynced = true;
      this.release(); // closes the old file, which has lost its name
    });
    await this.#syncDirectory();
  }

  /** Records the exact highest id. Rejects while a failed write may remain in the file. */
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

  /** Records the last stored id; a failure only weakens the detection of later losses. */
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

  /** A torn end stays until the next write, because it is the only sign of lost ids. */
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

  /** No event counts as stored before the name of its file is on the disk. */
  async #syncDirectory(): Promise<void> {
    const { io, directory, durable } = this.#options;
    if (!this.#unsynced) return;
    if (durable) await io.syncDirectory(directory);
    this.#unsynced = false;
  }
}

/** Refuses a symbolic link, whose target may belong to other programs. */
const NO_LINK = constants.O_NOFOLLOW ?? 0;

function openLog(io: DiskIo, path: string): number {
  if (!lstatSync(path).isFile()) throw new Error(`${path} is not a file; remove it, or name another directory`);
  return io.open(path, 'r');
}

const emptyAfter = (latest: number): Generation => {
  return { bytes: 0, earliest: undefined, latest, gaps: NO_GAPS, index: new SparseIndex() };
};
