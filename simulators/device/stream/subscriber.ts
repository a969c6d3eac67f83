/**
 * One client of the event stream: replays from the file at the client's pace, joins the live ones in the same tick in which it
 * has read everything stored, and goes back to the file when it falls behind. So no client holds more than a little in
 * memory, however slow it is, and none misses an event at the seam.
 */
import type { Socket } from 'node:net';
import type { LiveSubscriber, Session, StreamBehaviour } from '../behaviour.ts';
import type { EventLog } from '../log/event-log.ts';
import type { DiskIo } from '../log/io.ts';
import type { StoredEvent } from '../log/line.ts';
import type { FanOut, View } from './fan-out.ts';
import type { TypeFilter } from './filter.ts';
import { LAST_CHUNK } from './frame.ts';
import { heartbeat } from './heartbeat.ts';
import { LogReader } from './reader.ts';

/** What the streams of one agent share. */
export interface Stream {
  log: EventLog;
  io: DiskIo;
  behaviour: StreamBehaviour;
  heartbeatMs: number;
  /** A subscriber that was live and is more than this many bytes behind is dropped; it can replay. */
  subscriberBytes: number;
  fanOut: FanOut;
  onNotice(notice: string, error?: unknown): void;
  /** Writes to a socket, false when it has enough for now; a fault may do it differently. */
  write(socket: Socket, bytes: Buffer): boolean;
}

export interface SubscriberOptions {
  after: number;
  filter: TypeFilter;
  chunked: boolean;
  session: Session | undefined;
}

export class Subscriber implements LiveSubscriber {
  readonly view: View;
  readonly session: Session | undefined;
  readonly #stream: Stream;
  readonly #socket: Socket;
  #reader: LogReader | undefined;
  #wasLive = false;
  #closed = false;
  #scheduled: NodeJS.Immediate | undefined;
  #lifetime: NodeJS.Timeout | undefined;
  /** Bytes sent up to the last beat, and when there was nothing new since. */
  #sent = -1;
  #quietSince = 0;
  #stopHeartbeat: (() => void) | undefined;

  constructor(stream: Stream, socket: Socket, { after, filter, chunked, session }: SubscriberOptions) {
    this.#stream = stream;
    this.#socket = socket;
    this.view = stream.fanOut.view(filter, chunked);
    this.session = session;
    this.#reader = new LogReader(stream.log, stream.io, after);
  }

  /** Begins to send; the response head is on its way already. */
  open(): void {
    const { behaviour, heartbeatMs, fanOut } = this.#stream;
    fanOut.enrol(this);
    this.#socket.on('drain', () => this.#pump());
    this.#socket.once('close', () => this.#close());
    if (behaviour.preamble !== '') this.#write(Buffer.from(behaviour.preamble));
    if (behaviour.heartbeatAtOpen) this.beat();
    this.#stopHeartbeat = heartbeat(this, behaviour.heartbeatMs(heartbeatMs));
    const lifetime = behaviour.lifetimeMs(heartbeatMs);
    if (lifetime !== undefined) this.#lifetime = setTimeout(() => this.end(), lifetime).unref();
    this.#pump();
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

  /** Live frames, encoded and chunked already; `latest` is the id of the last event they stand for. */
  deliver(bytes: Buffer, latest: number): void {
    if (bytes.length === 0 || this.#closed || this.#stream.write(this.#socket, bytes)) return;
    const { behaviour, fanOut, log, io } = this.#stream;
    if (this.#socket.writableLength <= behaviour.liveBufferBytes) return;
    fanOut.delete(this);
    this.#reader = new LogReader(log, io, latest);
  }

  /** More events were stored while this one is behind. */
  checkLag(): void {
    const reader = this.#reader;
    if (!this.#wasLive || !reader) return;
    if (reader.outdated || reader.behind > this.#stream.subscriberBytes) this.drop();
  }

  /** Ends the stream in order, as an agent does that is stopped. */
  end(): void {
    if (this.#closed) return;
    this.#close();
    if (this.view.chunked) this.#socket.write(LAST_CHUNK);
    this.#socket.destroySoon();
  }

  /** Cuts the connection; the client reconnects and replays. */
  drop(): void {
    this.#close();
    this.#socket.destroy();
  }

  #write(body: Buffer): void {
    const { write, behaviour } = this.#stream;
    write(this.#socket, this.view.chunked ? behaviour.chunk(body) : body);
  }

  /** Sends the next portion, as long as the client takes it. */
  #pump(): void {
    const reader = this.#reader;
    this.#scheduled = undefined;
    if (this.#closed || !reader || this.#socket.writableNeedDrain) return;
    const events = this.#read(reader);
    if (events === 'overtaken') this.drop();
    else if (events.length === 0) this.#goLive();
    else this.#replay(events);
  }

  #read(reader: LogReader): StoredEvent[] | 'overtaken' {
    try {
      return reader.read();
    } catch (error) {
      // Whoever comes back learns whether it lasts.
      this.#stream.onNotice('the event log could not be read; a stream was cut', error);
      return 'overtaken';
    }
  }

  #replay(events: readonly StoredEvent[]): void {
    const { wants, frame } = this.#stream.behaviour;
    const seen = this.session?.replay?.(events) ?? events;
    let frames = '';
    for (const event of seen) if (wants(this.view.filter, event.type, 'replay')) frames += frame(event);
    if (frames !== '') this.#write(Buffer.from(frames));
    // Others get their turn between two portions.
    if (!this.#socket.writableNeedDrain) this.#scheduled = setImmediate(() => this.#pump());
  }

  #goLive(): void {
    this.#reader?.close();
    this.#reader = undefined;
    this.#wasLive = true;
    this.#stream.behaviour.join(() => {
      if (!this.#closed) this.#stream.fanOut.add(this);
    });
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearImmediate(this.#scheduled);
    clearTimeout(this.#lifetime);
    this.#stopHeartbeat?.();
    this.#reader?.close();
    this.#reader = undefined;
    this.#stream.fanOut.forget(this);
  }
}
