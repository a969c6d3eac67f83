/** Sends a client stored events from the file, then live events; a slow client gets events from the file again. */

import type { Socket } from 'node:net';
import { LAST_CHUNK, type Session, type StreamBehaviour, type TypeFilter } from '../behaviour.ts';
import type { EventLog } from '../log/event-log.ts';
import type { DiskIo } from '../log/io.ts';
import type { StoredEvent } from '../log/line.ts';
import type { Opened } from '../ports.ts';
import { systemTime, type Time, Wheel, type WheelMember } from '../uplink/time.ts';
import type { FanOut, StreamSubscriber, View } from './fan-out.ts';
import { LogReader, leaveTurn, takeTurn } from './reader.ts';

const SHORTEST_TICK_MS = 5;

const TIME: Time = { ...systemTime, after: (ms, task) => setTimeout(task, ms).unref() };

const wheels = new Map<number, Wheel>();

export function heartbeat(stream: WheelMember, intervalMs: number): () => void {
  const slots = Math.max(1, Math.min(32, Math.floor(intervalMs / SHORTEST_TICK_MS)));
  const wheel = wheels.get(intervalMs) ?? new Wheel(TIME, intervalMs, slots);
  wheels.set(intervalMs, wheel);
  const slot = wheel.add(stream);
  return () => wheel.delete(stream, slot);
}

export interface Stream {
  log: EventLog;
  io: DiskIo;
  behaviour: StreamBehaviour;
  heartbeatMs: number;
  subscriberBytes: number;
  fanOut: FanOut;
  onNotice(notice: string, error?: unknown): void;
  onOpen?(socket: Socket, opened: Opened): void;
  write(socket: Socket, bytes: Buffer): boolean;
}

export interface SubscriberOptions {
  after: number;
  filter: TypeFilter;
  chunked: boolean;
  session: Session | undefined;
}

export class Subscriber implements StreamSubscriber {
  readonly view: View;
  readonly session: Session | undefined;
  readonly #stream: Stream;
  readonly #socket: Socket;
  #reader: LogReader | undefined;
  #wasLive = false;
  #closed = false;
  readonly #turn = (): void => this.#pump();
  #pause: NodeJS.Timeout | undefined;
  #lifetime: NodeJS.Timeout | undefined;
  #sent = -1;
  /** Time of the last sent byte in milliseconds of `performance.now`, accurate to one heartbeat interval. */
  #quietSince = 0;
  #stopHeartbeat: (() => void) | undefined;

  constructor(stream: Stream, socket: Socket, { after, filter, chunked, session }: SubscriberOptions) {
    this.#stream = stream;
    this.#socket = socket;
    this.view = stream.fanOut.view(filter, chunked);
    this.session = session;
    this.#reader = new LogReader(stream.log, stream.io, after);
  }

  open(): void {
    const { behaviour, heartbeatMs, fanOut } = this.#stream;
    fanOut.enrol(this);
    this.#socket.on('drain', () => {
      if (this.#pause === undefined) takeTurn(this.#turn);
    });
    this.#socket.once('close', () => this.#close());
    if (behaviour.preamble !== '') this.#write(Buffer.from(behaviour.preamble));
    if (behaviour.heartbeatAtOpen) this.beat();
    this.#stopHeartbeat = heartbeat(this, behaviour.heartbeatMs(heartbeatMs));
    const lifetime = behaviour.lifetimeMs(heartbeatMs);
    if (lifetime !== undefined) this.#lifetime = setTimeout(() => this.end(), lifetime).unref();
    this.#begin();
  }

  get waiting(): number {
    return this.#socket.writableLength;
  }

  beat(): void {
    if (this.#closed) return;
    const { behaviour, log } = this.#stream;
    const now = performance.now();
    if (this.#socket.bytesWritten !== this.#sent) this.#quietSince = now;
    const text = behaviour.heartbeat({ latest: log.latest, idleMs: now - this.#quietSince });
    if (text !== '' && !this.#socket.writableNeedDrain) {
      this.#write(Buffer.from(text));
      this.#quietSince = now;
    }
    this.#sent = this.#socket.bytesWritten;
  }

  deliver(bytes: Buffer, latest: number): void {
    if (bytes.length === 0 || this.#closed || this.#stream.write(this.#socket, bytes)) return;
    const { behaviour, fanOut, log, io } = this.#stream;
    if (this.#socket.writableLength <= behaviour.liveBufferBytes) return;
    fanOut.delete(this);
    this.#reader = new LogReader(log, io, latest);
  }

  checkLag(): void {
    const reader = this.#reader;
    if (!this.#wasLive || !reader) return;
    if (reader.outdated || reader.behind > this.#stream.subscriberBytes) this.drop();
  }

  end(): void {
    if (this.#closed) return;
    this.#close();
    if (this.view.chunked) this.#socket.write(LAST_CHUNK);
    this.#socket.destroySoon();
  }

  drop(): void {
    this.#close();
    this.#socket.destroy();
  }

  #write(body: Buffer): void {
    const { write, behaviour } = this.#stream;
    write(this.#socket, this.view.chunked ? behaviour.chunk(body) : body);
  }

  /** Opens the file immediately, because a compaction could remove events before the first read. */
  #begin(): void {
    const reader = this.#reader;
    if (!reader || reader.behind === 0) this.#pump();
    else if (this.#try(() => reader.hold()) === 'overtaken') this.drop();
    else takeTurn(this.#turn);
  }

  #pump(): void {
    const reader = this.#reader;
    if (this.#closed || !reader || this.#socket.writableNeedDrain) return;
    const { behaviour, fanOut } = this.#stream;
    const paced = behaviour.eventPauseMs > 0;
    const events = this.#try(() => reader.read(paced ? 1 : undefined));
    if (events === 'overtaken') this.drop();
    else if (events.length > 0) this.#replay(events);
    else if (paced) this.#pumpLater();
    else {
      reader.close();
      this.#reader = undefined;
      this.#wasLive = true;
      behaviour.join(() => {
        if (!this.#closed) fanOut.add(this);
      });
    }
  }

  #pumpLater(): void {
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#pump();
    }, this.#stream.behaviour.eventPauseMs).unref();
  }

  #try<T>(action: () => T): T | 'overtaken' {
    try {
      return action();
    } catch (error) {
      // Ends the stream after a read error; the client's next request shows whether the error persists.
      this.#stream.onNotice('the event log could not be read; a stream was cut', error);
      return 'overtaken';
    }
  }

  #replay(events: readonly StoredEvent[]): void {
    const { wants, frame, eventPauseMs } = this.#stream.behaviour;
    const seen = this.session?.replay?.(events) ?? events;
    let frames = '';
    for (const event of seen) if (wants(this.view.filter, event.type, 'replay')) frames += frame(event);
    if (frames !== '') this.#write(Buffer.from(frames));
    if (this.#socket.writableNeedDrain) return;
    if (eventPauseMs > 0 && frames !== '') this.#pumpLater();
    else takeTurn(this.#turn);
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    leaveTurn(this.#turn);
    clearTimeout(this.#pause);
    clearTimeout(this.#lifetime);
    this.#stopHeartbeat?.();
    this.#reader?.close();
    this.#reader = undefined;
    this.#stream.fanOut.forget(this);
  }
}
