/**
 * One client of the event stream: replays from the file at the client's pace, joins the live ones in the same tick in which it
 * has read everything stored, and goes back to the file when it falls behind. So no client holds more than one portion in
 * memory, however slow it is, and none is missing an event at the seam.
 */
import type { Socket } from 'node:net';
import type { StreamBehaviour } from '../behaviour.ts';
import type { EventLog } from '../log/event-log.ts';
import type { DiskIo } from '../log/io.ts';
import type { StoredEvent } from '../log/line.ts';
import type { FanOut } from './fan-out.ts';
import type { TypeFilter } from './filter.ts';
import { chunk, LAST_CHUNK } from './frame.ts';
import { heartbeat } from './heartbeat.ts';
import { LogReader } from './reader.ts';

/** Bytes that may wait in a live subscriber's socket before it goes back to reading from the file. */
const LIVE_BUFFER_BYTES = 262_144;

export interface Stream {
  log: EventLog;
  io: DiskIo;
  behaviour: StreamBehaviour;
  heartbeatMs: number;
  /** A subscriber that was live and is more than this many bytes behind is dropped; it can replay. */
  subscriberBytes: number;
  fanOut: FanOut;
}

export class Subscriber {
  readonly filter: TypeFilter;
  readonly #stream: Stream;
  readonly #socket: Socket;
  /** HTTP/1.1 bodies are chunked; an HTTP/1.0 body ends with the connection. */
  readonly chunked: boolean;
  #reader: LogReader | undefined;
  #wasLive = false;
  #closed = false;
  #scheduled: NodeJS.Immediate | undefined;
  #stopHeartbeat: (() => void) | undefined;

  constructor(stream: Stream, socket: Socket, options: { after: number; filter: TypeFilter; chunked: boolean }) {
    this.#stream = stream;
    this.#socket = socket;
    this.filter = options.filter;
    this.chunked = options.chunked;
    this.#reader = new LogReader(stream.log, stream.io, options.after);
  }

  /** Begins to send; the response head is on its way already. */
  open(): void {
    const { behaviour, heartbeatMs } = this.#stream;
    this.#socket.on('drain', () => this.#pump());
    this.#socket.once('close', () => this.#close());
    if (behaviour.heartbeatAtOpen) this.beat();
    this.#stopHeartbeat = heartbeat(this, heartbeatMs);
    this.#pump();
  }

  beat(): void {
    const text = this.#stream.behaviour.heartbeat();
    if (text !== '' && !this.#closed && !this.#socket.writableNeedDrain) this.#write(Buffer.from(text));
  }

  /** Live frames, encoded and chunked already; `latest` is the id of the last event they stand for. */
  deliver(bytes: Buffer, latest: number): void {
    const socket = this.#socket;
    if (bytes.length > 0) socket.write(bytes);
    if (socket.writableLength <= LIVE_BUFFER_BYTES) return;
    this.#stream.fanOut.delete(this);
    this.#reader = new LogReader(this.#stream.log, this.#stream.io, latest);
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
    if (this.chunked) this.#socket.write(LAST_CHUNK);
    this.#socket.destroySoon();
  }

  /** Cuts the connection; the client reconnects and replays. */
  drop(): void {
    this.#close();
    this.#socket.destroy();
  }

  #write(body: Buffer): void {
    this.#socket.write(this.chunked ? chunk(body) : body);
  }

  #pump(): void {
    const reader = this.#reader;
    this.#scheduled = undefined;
    if (this.#closed || !reader || this.#socket.writableNeedDrain) return;
    const events = reader.read();
    if (events === 'overtaken') this.drop();
    else if (events.length === 0) this.#goLive();
    else this.#replay(events);
  }

  #replay(events: readonly StoredEvent[]): void {
    const { behaviour } = this.#stream;
    let frames = '';
    for (const event of events)
      if (behaviour.wants(this.filter, event.type, 'replay')) frames += behaviour.frame(event);
    if (frames !== '') this.#write(Buffer.from(frames));
    // Others get their turn between two portions.
    if (!this.#socket.writableNeedDrain) this.#scheduled = setImmediate(() => this.#pump());
  }

  #goLive(): void {
    this.#reader?.close();
    this.#reader = undefined;
    this.#wasLive = true;
    this.#stream.fanOut.add(this);
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearImmediate(this.#scheduled);
    this.#stopHeartbeat?.();
    this.#reader?.close();
    this.#reader = undefined;
    this.#stream.fanOut.forget(this);
  }
}
