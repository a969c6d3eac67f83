/** Reports an agent's events, frames, listeners and log bounds ten times a second; drops the oldest of too many. */

import type { Socket } from 'node:net';
import { defined } from '../../harness/common/defined.ts';
import type { Deployment } from '../../harness/contract/device-api.ts';
import type { EventLog } from './log/event-log.ts';
import type { DiskIo } from './log/io.ts';
import type { StoredEvent } from './log/line.ts';
import type { Opened, Seen, SeenEvent, SeenFrame, SeenListener, SeenLog } from './seen.ts';
import { storedAfter } from './stream/reader.ts';

function framesIn(bytes: Buffer): Pick<SeenFrame, 'id' | 'type' | 'text'>[] {
  const texts = body(bytes).split('\n\n');
  return texts.flatMap((text) => {
    if (text.trim() === '') return [];
    const [, id] = /^id: ?(.*)$/m.exec(text) ?? [];
    const [, type] = /^event: ?(.*)$/m.exec(text) ?? [];
    return { ...defined({ id, type }), text: text.slice(0, 4_000) };
  });
}

function body(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16);
    if (end < 0 || !/^[0-9a-f]+$/i.test(bytes.toString('latin1', at, end))) return bytes.toString();
    text += bytes.toString('utf8', end + 2, end + 2 + size);
    at = end + 2 + size + 2;
  }
  return text;
}

interface Watched {
  events: EventLog;
  io: DiskIo;
  current(): Deployment | undefined;
}

const MOST = 200;

export class Watch {
  readonly #tell: (seen: Seen) => void;
  #watched: Watched | undefined;
  #timer: NodeJS.Timeout | undefined;
  #events: SeenEvent[] = [];
  #frames: SeenFrame[] = [];
  readonly #open = new Map<Socket, { number: number; listener: SeenListener }>();
  #nextNumber = 1;
  /** Frames of the last buffer, kept because several subscribers receive the same buffer. */
  #last: { bytes: Buffer; frames: SeenFrame[] } | undefined;
  readonly #told = new Map<string, string>();

  constructor(tell: (seen: Seen) => void) {
    this.#tell = tell;
  }

  start(watched: Watched): void {
    this.#watched = watched;
    this.#events = newest(watched);
    this.#timer = setInterval(() => this.#look(), 100).unref();
    this.#look();
  }

  stored(events: readonly StoredEvent[]): void {
    for (const { id, type, json } of events.slice(-MOST)) this.#events.push({ id, type, json });
    this.#events = this.#events.slice(-MOST);
  }

  opened(socket: Socket, { client = 'unnamed', after, types }: Opened): void {
    const listener: SeenListener = { client, since: Date.now(), after, frames: 0, waiting: 0 };
    if (types !== undefined) listener.types = [...types];
    this.#open.set(socket, { number: this.#nextNumber++, listener });
    socket.once('close', () => this.#open.delete(socket));
  }

  sent(socket: Socket, bytes: Buffer): void {
    const open = this.#open.get(socket);
    if (open === undefined) return;
    const shared = this.#last?.bytes === bytes ? this.#last.frames : undefined;
    const frames = shared ?? framesIn(bytes).map((frame) => ({ ...frame, at: Date.now(), to: [] as number[] }));
    if (shared === undefined) {
      this.#last = { bytes, frames };
      this.#frames = [...this.#frames, ...frames].slice(-MOST);
    }
    for (const frame of frames) {
      frame.to.push(open.number);
      if (frame.id !== undefined) open.listener.last = frame.id;
    }
    open.listener.frames += frames.length;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#look();
  }

  #look(): void {
    const watched = this.#watched;
    if (watched === undefined) return;
    const { earliest, latest, count, generation } = watched.events;
    const log: SeenLog = { earliest, latest, count, bytes: generation.bytes };
    const listeners: Record<string, SeenListener> = {};
    for (const [{ writableLength: waiting }, { number, listener }] of this.#open)
      listeners[number] = { ...listener, waiting };
    const current = watched.current() ?? null;
    this.#last = undefined;
    const seen: Seen = {
      events: this.#events.splice(0),
      frames: this.#frames.splice(0),
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

function newest({ events, io }: Watched): SeenEvent[] {
  const found = storedAfter(events, io, Math.max(events.earliest - 1, events.latest - MOST));
  return Array.from(found, ({ id, type, json }) => ({ id, type, json })).slice(-MOST);
}
