/** Reads stored events in portions, across any number of compactions. */

import type { EventLog } from '../log/event-log.ts';
import type { Generation } from '../log/generation.ts';
import type { DiskIo } from '../log/io.ts';
import type { StoredEvent } from '../log/line.ts';
import { scanEvents } from '../log/recovery.ts';

export class LogReader {
  readonly #log: EventLog;
  readonly #io: DiskIo;
  #generation: Generation;
  #fd: number | undefined;
  #offset: number;
  position: number;

  constructor(log: EventLog, io: DiskIo, after: number) {
    this.#log = log;
    this.#io = io;
    this.position = after;
    this.#generation = log.generation;
    this.#offset = this.#start();
  }

  /**
   * Reads up to `most` events, none at the end of the log; returns `overtaken` if a compaction removed unread events.
   * Throws Node's system error for an unreadable file.
   */
  read(most = Number.POSITIVE_INFINITY): StoredEvent[] | 'overtaken' {
    for (;;) {
      // After a compaction, the path refers to the new file, so the old file cannot be opened.
      const lost = this.#fd === undefined && this.outdated;
      const events = lost ? [] : this.#portion(most);
      if (events.length > 0) return events;
      if (!lost && this.#offset < this.#generation.bytes) continue;
      if (!this.outdated) return events;
      this.close();
      this.#generation = this.#log.generation;
      if (this.#log.earliest > this.position + 1) return 'overtaken';
      this.#offset = this.#start();
    }
  }

  /** Opens the file, because a compaction could replace the file before the first read. */
  hold(): void {
    this.#fd ??= this.#io.open(this.#log.path, 'r');
  }

  get outdated(): boolean {
    return this.#generation !== this.#log.generation;
  }

  get behind(): number {
    return this.#generation.bytes - this.#offset;
  }

  close(): void {
    if (this.#fd !== undefined) this.#io.close(this.#fd);
    this.#fd = undefined;
  }

  #start(): number {
    const { bytes, index, latest } = this.#generation;
    return this.position >= latest ? bytes : index.offsetBefore(this.position);
  }

  #portion(most: number): StoredEvent[] {
    const events: StoredEvent[] = [];
    const to = this.#generation.bytes;
    if (this.#offset >= to) return events;
    this.#fd ??= this.#io.open(this.#log.path, 'r');
    const until = this.#offset + 65_536;
    const scan = { io: this.#io, fd: this.#fd, from: this.#offset, to, after: this.position };
    const onDamage = (offset: number, bytes: number) => this.#log.noteDamage(offset, bytes);
    const next = scanEvents({ ...scan, onDamage }, (event, offset) => {
      events.push(event);
      this.position = event.id;
      return offset < until && events.length < most;
    });
    // Skips the rest if nothing can be read, e.g. because a user truncated the file.
    this.#offset = next > this.#offset ? next : to;
    return events;
  }
}

/** Events after the id `after`; ends at the newest event, or early if a compaction removes unread events. */
export function* storedAfter(log: EventLog, io: DiskIo, after: number): Generator<StoredEvent, void> {
  const reader = new LogReader(log, io, after);
  try {
    for (let portion = reader.read(); portion !== 'overtaken' && portion.length > 0; portion = reader.read())
      yield* portion;
  } finally {
    reader.close();
  }
}

// Replays take turns of one portion each, so that other work can run between. New connections go first, because the
// event loop accepts only one connection per iteration.

const waiting = new Set<() => void>();
let scheduled = false;
let connected = false;
let ended = 0;

export function takeTurn(turn: () => void): void {
  waiting.add(turn);
  if (scheduled) return;
  scheduled = true;
  setImmediate(slice);
}

export function leaveTurn(turn: () => void): void {
  waiting.delete(turn);
}

export function giveWay(): void {
  connected = true;
}

function slice(): void {
  const began = performance.now();
  // Milliseconds by which new connections may delay replays.
  const waits = connected && began - ended < 50;
  connected = false;
  try {
    const due = waits ? [] : waiting;
    // The loop also visits replays that queue again meanwhile, until the time is over.
    for (const turn of due) {
      waiting.delete(turn);
      turn();
      // Milliseconds before other work runs; a started portion always completes.
      if (performance.now() >= began + 5) break;
    }
  } finally {
    if (!waits) ended = performance.now();
    scheduled = waiting.size > 0;
    if (scheduled) setImmediate(slice);
  }
}
