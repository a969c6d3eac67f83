/**
 * Watches an agent for somebody who looks on: events as they are stored, frames as they are written to sockets, who listens, and
 * where the log begins. What happens within a tenth of a second is told together, and of a flood only its newest part.
 */
import type { Socket } from 'node:net';
import type { Deployment } from '../../harness/contract/deployment.ts';
import { type Clock, systemClock } from '../common/clock.ts';
import type { EventLog } from './log/event-log.ts';
import type { DiskIo } from './log/io.ts';
import type { StoredEvent } from './log/line.ts';
import type { Opened, Seen, SeenEvent, SeenLog } from './seen.ts';
import { LogReader } from './stream/reader.ts';
import { Wire } from './stream/wire.ts';

/** What the agent shows of itself. */
export interface Watched {
  events: EventLog;
  io: DiskIo;
  current(): Deployment | undefined;
}

const EVERY_MS = 100;
/** Events, and frames, that are told at once. */
const MOST = 200;

/** Watches one agent from its start to its end. */
export class Watch {
  readonly #tell: (seen: Seen) => void;
  readonly #clock: Clock;
  #watched: Watched | undefined;
  #timer: NodeJS.Timeout | undefined;
  #events: SeenEvent[] = [];
  readonly #wire: Wire;
  #told = new Map<string, string>();

  constructor(tell: (seen: Seen) => void, clock: Clock = systemClock) {
    this.#tell = tell;
    this.#clock = clock;
    this.#wire = new Wire(MOST, () => this.#clock.now());
  }

  /** Begins with what the log holds already. */
  start(watched: Watched): void {
    this.#watched = watched;
    this.#events = newest(watched);
    this.#timer = setInterval(() => this.#look(), EVERY_MS).unref();
    this.#look();
  }

  stored(events: readonly StoredEvent[]): void {
    for (const { id, type, json } of events.slice(-MOST)) this.#events.push({ id, type, json });
    if (this.#events.length > MOST) this.#events = this.#events.slice(-MOST);
  }

  /** A client has subscribed on the socket. */
  opened(socket: Socket, opened: Opened): void {
    this.#wire.opened(socket, opened);
  }

  /** Bytes were written to a subscriber's socket. */
  sent(socket: Socket, bytes: Buffer): void {
    this.#wire.sent(socket, bytes);
  }

  /** Tells the last of it. */
  stop(): void {
    clearInterval(this.#timer);
    this.#look();
  }

  #look(): void {
    const watched = this.#watched;
    if (watched === undefined) return;
    const { earliest, latest, count, generation } = watched.events;
    const listeners = this.#wire.listeners();
    const log: SeenLog = { earliest, latest, count, bytes: generation.bytes };
    const current = watched.current() ?? null;
    const seen: Seen = {
      events: this.#events.splice(0),
      frames: this.#wire.take(),
      ...(this.#isNew('listeners', listeners) && { listeners }),
      ...(this.#isNew('log', log) && { log }),
      ...(this.#isNew('current', current) && { current }),
    };
    if (seen.events.length + seen.frames.length > 0 || Object.keys(seen).length > 2) this.#tell(seen);
  }

  #isNew(name: string, value: unknown): boolean {
    const text = JSON.stringify(value);
    if (this.#told.get(name) === text) return false;
    this.#told.set(name, text);
    return true;
  }
}

/** The newest events of the log. */
function newest({ events, io }: Watched): SeenEvent[] {
  const found: SeenEvent[] = [];
  const reader = new LogReader(events, io, Math.max(events.earliest - 1, events.latest - MOST));
  try {
    for (let part = reader.read(); part !== 'overtaken' && part.length > 0; part = reader.read()) {
      for (const { id, type, json } of part) found.push({ id, type, json });
    }
  } finally {
    reader.close();
  }
  return found.slice(-MOST);
}
