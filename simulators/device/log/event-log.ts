/**
 * The event log of one robot (specification section 6.2, rule 5): JSONL on disk is the source of truth, an event is durable
 * before `onStored` hears of it, and what stays in memory does not grow with the number of events.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { type Clock, timestamp } from '../../common/clock.ts';
import { compactedName, copyTail } from './compaction.ts';
import type { Generation } from './generation.ts';
import { SparseIndex } from './generation.ts';
import { keepOpen, LogHandle } from './handles.ts';
import { type DiskIo, errorCode, unlessMissing } from './io.ts';
import { eventLine, type StoredEvent } from './line.ts';
import { nextBlock, readMark, writeMark } from './mark.ts';
import { recover } from './recover.ts';

export const LOG_FILE = 'events.jsonl';

export interface EventDraft {
  type: string;
  data: object;
}

export interface EventLogOptions {
  directory: string;
  /** Events kept at most; compaction leaves 80 % of them. */
  retain: number;
  /** Bytes kept at most; compaction leaves 80 % of them. */
  retainBytes: number;
  /** `sync`: on the disk before it is delivered. `os`: in the page cache, which outlives the process but not the machine. */
  durability: 'sync' | 'os';
  io: DiskIo;
  clock: Clock;
  /** Called in order with events that are stored, in the same tick in which they become readable. */
  onStored(events: readonly StoredEvent[]): void;
  /** Something worth a line in the robot's own log: repairs, failed compactions. */
  onNotice(notice: string, error?: unknown): void;
}

/** The log cannot take events: disk full, not writable, or the robot is down. Nothing of the attempt was delivered. */
export class EventLogError extends Error {
  override name = 'EventLogError';
}

interface Pending {
  events: StoredEvent[];
  resolve(range: { first: number; last: number }): void;
  reject(error: Error): void;
}

/** Bytes of one group commit at most. */
const BATCH_BYTES = 1_048_576;

export class EventLog {
  readonly path: string;
  readonly #options: EventLogOptions;
  #generation: Generation;
  #handle: LogHandle | undefined;
  #next: number;
  #reserved = 0;
  #block = 0;
  #appends: Pending[] = [];
  #compactions: (() => void)[] = [];
  #working: Promise<void> | undefined;
  #state: 'open' | 'closing' | 'down' = 'open';

  /** Opens the log in `directory`, repairing what a crash left. Throws the system's error when it cannot be read. */
  constructor(options: EventLogOptions) {
    this.#options = options;
    this.path = `${options.directory}/${LOG_FILE}`;
    const { io } = options;
    rmSync(`${options.directory}/${compactedName(LOG_FILE)}`, { force: true });
    const mark = readMark(options.directory);
    const fd = unlessMissing(() => io.open(this.path, 'r+'));
    if (fd === undefined) {
      this.#generation = { bytes: 0, earliest: undefined, latest: mark?.highest ?? 0, index: new SparseIndex() };
    } else {
      try {
        const found = recover(io, fd, mark);
        for (const notice of found.damage) options.onNotice(notice);
        if (found.torn > 0) io.truncate(fd, found.generation.bytes);
        if (found.unended) {
          io.write(fd, Buffer.from('\n'), found.generation.bytes);
          found.generation.bytes += 1;
        }
        this.#generation = found.generation;
      } finally {
        io.close(fd);
      }
    }
    this.#next = this.#generation.latest + 1;
  }

  /** The file that is being written, for readers. */
  get generation(): Generation {
    return this.#generation;
  }

  /** Highest id that is stored, or was before it was compacted; 0 before the first. */
  get latest(): number {
    return this.#generation.latest;
  }

  /** Id of the first event that is retained; the next id when none is. */
  get earliest(): number {
    return this.#generation.earliest ?? this.#generation.latest + 1;
  }

  /**
   * Stores events and resolves with their ids once they are durable and delivered. Events of one call are stored together
   * and in order. Rejects with EventLogError when they could not be stored; then none of them is delivered.
   */
  append(drafts: readonly EventDraft[]): Promise<{ first: number; last: number }> {
    if (this.#state !== 'open') return Promise.reject(new EventLogError('the robot is down, its log takes no events'));
    const occurredAt = timestamp(this.#options.clock);
    const events = drafts.map(({ type, data }) => eventLine(this.#next++, type, occurredAt, data));
    return new Promise((resolve, reject) => {
      this.#appends.push({ events, resolve, reject });
      this.#work();
    });
  }

  /** Compacts now to 80 % of what there is (never below one event), whatever the retention; resolves when it is done. */
  compact(): Promise<void> {
    if (this.#state !== 'open') return Promise.reject(new EventLogError('the robot is down, its log is not compacted'));
    return new Promise((resolve) => {
      this.#compactions.push(resolve);
      this.#work();
    });
  }

  /** Stores what is pending and writes the exact mark. */
  async close(): Promise<void> {
    if (this.#state === 'open') this.#state = 'closing';
    await this.#working;
    if (this.#state !== 'closing') return;
    this.#state = 'down';
    this.#release();
    if (this.#reserved === 0) return;
    const highest = this.latest;
    await writeMark(this.#options.io, this.#options.directory, { highest, from: highest, clean: true }, this.#durable);
  }

  /** Ends as a crash does: whatever is not on disk now never will be, and nothing more is delivered. */
  abandon(): void {
    if (this.#state === 'down') return;
    this.#state = 'down';
    this.#fail(new EventLogError('the robot was killed before the event was stored'));
    if (!this.#working) this.#release();
  }

  get #down(): boolean {
    return this.#state === 'down';
  }

  get #durable(): boolean {
    return this.#options.durability === 'sync';
  }

  #work(): void {
    this.#working ??= this.#drain().finally(() => {
      this.#working = undefined;
      if (this.#state === 'down') this.#release();
      else if (this.#appends.length > 0 || this.#compactions.length > 0) this.#work();
    });
  }

  async #drain(): Promise<void> {
    await undefined; // whatever is appended in this tick shares the first commit
    while (this.#appends.length > 0 && !this.#down) {
      const batch = this.#takeBatch();
      try {
        await this.#store(batch);
      } catch (error) {
        this.#appends.unshift(...batch);
        this.#refuse(error);
        continue;
      }
      await this.#bound();
    }
    for (const done of this.#compactions.splice(0)) {
      const { earliest, latest } = this.#generation;
      if (earliest !== undefined)
        await this.#keepFrom(latest - Math.max(1, Math.floor((latest - earliest + 1) * 0.8)) + 1);
      done();
    }
  }

  #takeBatch(): Pending[] {
    let bytes = 0;
    let taken = 0;
    for (const { events } of this.#appends) {
      if (taken > 0 && bytes > BATCH_BYTES) break;
      for (const { json } of events) bytes += json.length;
      taken += 1;
    }
    return this.#appends.splice(0, taken);
  }

  async #store(batch: Pending[]): Promise<void> {
    const { io } = this.#options;
    const events = batch.length === 1 && batch[0] ? batch[0].events : batch.flatMap((pending) => pending.events);
    const last = events.at(-1);
    if (last) {
      if (last.id > this.#reserved) await this.#reserve(last.id);
      const fd = await this.#open();
      const data = Buffer.from(`${events.map(({ json }) => json).join('\n')}\n`);
      io.write(fd, data, this.#generation.bytes);
      if (this.#durable) await io.sync(fd);
      if (this.#down) throw new EventLogError('the robot was killed before the event was stored');
      this.#commit(events, data.length);
      this.#options.onStored(events);
    }
    for (const { events: own, resolve } of batch) {
      resolve({ first: own[0]?.id ?? this.latest + 1, last: own.at(-1)?.id ?? this.latest });
    }
  }

  #commit(events: readonly StoredEvent[], bytes: number): void {
    const generation = this.#generation;
    const first = events[0]?.id ?? 0;
    generation.index.note(first, generation.bytes);
    generation.earliest ??= first;
    generation.bytes += bytes;
    generation.latest = events.at(-1)?.id ?? generation.latest;
  }

  async #reserve(needed: number): Promise<void> {
    mkdirSync(this.#options.directory, { recursive: true });
    this.#block = nextBlock(this.#block);
    const highest = needed + this.#block;
    const mark = { highest, from: this.latest, clean: false };
    await writeMark(this.#options.io, this.#options.directory, mark, this.#durable);
    this.#reserved = highest;
  }

  async #open(): Promise<number> {
    if (this.#handle) return keepOpen(this.#handle);
    const { io, directory } = this.#options;
    const existing = unlessMissing(() => io.open(this.path, 'r+'));
    const fd = existing ?? io.open(this.path, 'w+');
    if (existing === undefined && this.#durable) await io.syncDirectory(directory);
    this.#handle = new LogHandle(io, fd, () => this.#idle());
    return keepOpen(this.#handle);
  }

  /** Asked by the sweeper; a handle in use stays open. */
  #idle(): boolean {
    if (this.#working) return false;
    this.#handle = undefined;
    return true;
  }

  #release(): void {
    this.#handle?.close();
    this.#handle = undefined;
  }

  /** A write that failed may have left anything behind the last stored event: it is cut off before the next attempt. */
  #refuse(error: unknown): void {
    if (this.#down) {
      this.#fail(error instanceof EventLogError ? error : new EventLogError(String(error)));
      return;
    }
    const reason = `cannot store events in ${this.path}: ${error instanceof Error ? error.message : String(error)}`;
    this.#fail(new EventLogError(reason, { cause: error }));
    this.#next = this.latest + 1;
    this.#options.onNotice(reason, error);
    try {
      if (this.#handle) this.#options.io.truncate(this.#handle.fd, this.#generation.bytes);
    } catch (also) {
      this.#options.onNotice(`cannot cut ${this.path} back to its last stored event`, also);
    }
    this.#release();
  }

  #fail(error: Error): void {
    for (const { reject } of this.#appends.splice(0)) reject(error);
  }

  /** Compacts to 80 % when there are more events, or bytes, than the log may keep. */
  async #bound(): Promise<void> {
    const { retain, retainBytes } = this.#options;
    const { earliest, latest, bytes } = this.#generation;
    if (earliest === undefined) return;
    const count = latest - earliest + 1;
    if (count <= retain && bytes <= retainBytes) return;
    const share = Math.min(1, (retainBytes * 0.8) / bytes);
    const keep = Math.max(1, Math.min(Math.floor(retain * 0.8), Math.floor(count * share)));
    await this.#keepFrom(latest - keep + 1);
  }

  async #keepFrom(id: number): Promise<void> {
    const { io, directory } = this.#options;
    const durable = this.#durable;
    try {
      const fd = await this.#open();
      const next = await copyTail(
        { io, directory, name: LOG_FILE, fd, generation: this.#generation, from: id, durable },
        () => !this.#down,
      );
      if (!next) return;
      this.#generation = next;
      this.#release(); // the old file has no name any more
    } catch (error) {
      const why = errorCode(error) ?? String(error);
      this.#options.onNotice(`cannot compact ${this.path} (${why}); it stays as it is`, error);
    }
  }
}
