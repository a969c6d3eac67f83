/** Reads the stored events after a cursor from the file, in portions, through any number of compactions. */

import type { EventLog } from '../log/event-log.ts';
import type { Generation } from '../log/generation.ts';
import type { DiskIo } from '../log/io.ts';
import type { StoredEvent } from '../log/line.ts';
import { scanEvents } from '../log/recovery.ts';

const PORTION_BYTES = 65_536;

/** A reader of one log; `close` gives its descriptor back. */
export class LogReader {
  readonly #log: EventLog;
  readonly #io: DiskIo;
  #generation: Generation;
  #fd: number | undefined;
  #offset: number;
  /** Id of the last event read, or the cursor. */
  position: number;

  constructor(log: EventLog, io: DiskIo, after: number) {
    this.#log = log;
    this.#io = io;
    this.position = after;
    this.#generation = log.generation;
    this.#offset = this.#start();
  }

  /**
   * The next portion of events, `most` of them at most; empty when everything stored at this moment has been read.
   * `overtaken`: events after the position were compacted away while the reader was behind. Throws the system's error
   * when the file cannot be read.
   */
  read(most = Number.POSITIVE_INFINITY): StoredEvent[] | 'overtaken' {
    for (;;) {
      // Compaction replaced the file before it was opened: its name leads to another file now.
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

  /** Opens the file, so that a compaction before the first portion costs nothing. Throws the system's error. */
  hold(): void {
    this.#fd ??= this.#io.open(this.#log.path, 'r');
  }

  /** Whether compaction has replaced the file that is being read. */
  get outdated(): boolean {
    return this.#generation !== this.#log.generation;
  }

  /** Bytes between the position and the end of the file. */
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
    // A file that was cut from outside has no more lines.
    this.#offset = next > this.#offset ? next : to;
    return events;
  }
}

/** The stored events after a cursor, up to the newest one, or to the one before a gap that compaction has made. */
export function* storedAfter(log: EventLog, io: DiskIo, after: number): Generator<StoredEvent, void> {
  const reader = new LogReader(log, io, after);
  try {
    for (let portion = reader.read(); portion !== 'overtaken' && portion.length > 0; portion = reader.read())
      yield* portion;
  } finally {
    reader.close();
  }
}

// Shares the process between replays and everything else. Replays wait in one queue and send one portion a turn; the
// turns that fit into a few milliseconds run together, and then the event loop goes on. It accepts one connection each
// time round, so while connections come in, replays wait for most of the time: a request behind thousands of others
// would else wait for as many slices of replay.

/** How long turns run before the event loop goes on. One turn always runs, and ends however long it takes. */
const SLICE_MS = 5;
/** How long replays wait for connections at most, between two slices. */
const PATIENCE_MS = 50;

const waiting = new Set<() => void>();
let scheduled = false;
let connected = false;
/** When the last slice ended; milliseconds of `performance.now`. */
let ended = 0;

/** Calls `turn` once, after those that wait already. A turn that waits already keeps its place. */
export function takeTurn(turn: () => void): void {
  waiting.add(turn);
  if (scheduled) return;
  scheduled = true;
  setImmediate(slice);
}

/** Takes `turn` out of the queue. */
export function leaveTurn(turn: () => void): void {
  waiting.delete(turn);
}

/** A connection came in, and there may be more: they go before the next slice. */
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
    // A turn that asks for another one is at the end of the same set, and is met again in this slice if there is time.
    for (const turn of waiting) {
      waiting.delete(turn);
      turn();
      if (performance.now() >= until) return;
    }
  } finally {
    ended = performance.now();
  }
}
