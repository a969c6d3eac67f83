/** Reads stored events after a cursor, in portions, across any number of compactions. */

import type { EventLog } from '../log/event-log.ts';
import type { Generation } from '../log/generation.ts';
import type { DiskIo } from '../log/io.ts';
import type { StoredEvent } from '../log/line.ts';
import { scanEvents } from '../log/recovery.ts';

const PORTION_BYTES = 65_536;

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
   * Returns the next portion, empty at the end of the log. `overtaken`: compaction removed unread events. Throws the
   * system's error for an unreadable file.
   */
  read(most = Number.POSITIVE_INFINITY): StoredEvent[] | 'overtaken' {
    for (;;) {
      // The name of a compacted log refers to a new file, so the old file cannot be opened any more.
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

  /** Opens the file now, because a compaction could remove the file before the first portion. */
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
    const until = this.#offset + PORTION_BYTES;
    const scan = { io: this.#io, fd: this.#fd, from: this.#offset, to, after: this.position };
    const onDamage = (offset: number, bytes: number) => this.#log.noteDamage(offset, bytes);
    const next = scanEvents({ ...scan, onDamage }, (event, offset) => {
      events.push(event);
      this.position = event.id;
      return offset < until && events.length < most;
    });
    // A file truncated by a user ends early; the reader skips to `to`.
    this.#offset = next > this.#offset ? next : to;
    return events;
  }
}

/** Ends at the newest event, or at events that compaction has removed. */
export function* storedAfter(log: EventLog, io: DiskIo, after: number): Generator<StoredEvent, void> {
  const reader = new LogReader(log, io, after);
  try {
    for (let portion = reader.read(); portion !== 'overtaken' && portion.length > 0; portion = reader.read())
      yield* portion;
  } finally {
    reader.close();
  }
}

// Shares the event loop between replays and other work: replays queue and send one portion per turn. Incoming
// connections delay replays, because the event loop accepts only one connection per iteration.

/** Milliseconds of replays before the event loop continues; a turn always runs to its end. */
const SLICE_MS = 5;
/** Milliseconds that incoming connections may delay replays. */
const PATIENCE_MS = 50;

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
  const wait = connected && began - ended < PATIENCE_MS;
  connected = false;
  try {
    if (!wait) run(began + SLICE_MS);
  } finally {
    scheduled = waiting.size > 0;
    if (scheduled) setImmediate(slice);
  }
}

function run(until: number): void {
  try {
    // A turn that queues itself again runs in the same loop, while time permits.
    for (const turn of waiting) {
      waiting.delete(turn);
      turn();
      if (performance.now() >= until) return;
    }
  } finally {
    ended = performance.now();
  }
}
