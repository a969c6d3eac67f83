/** Client on a robot that reads, resumes and checks the event stream (section 6.2 of the specification). */

import { connect, type Socket } from 'node:net';
import { backoffMs } from '../../../harness/common/waiting.ts';
import { DEVICE_API_PREFIX } from '../../../harness/contract/versions.ts';
import type { Violation } from '../result/result.ts';

export interface SseFrame {
  id: string | undefined;
  event: string | undefined;
  data: string;
}

interface SseHandlers {
  head(status: number): void;
  frame(frame: SseFrame): void;
}

/** Handwritten to save memory: 6 to 13 KiB a stream; node:http with eventsource-parser takes 52 KiB or more. */
export class SseReader {
  readonly #handlers: SseHandlers;
  #state: 'head' | 'size' | 'chunk' | 'chunk-end' | 'plain' | 'ended' = 'head';
  #pending: Buffer | undefined;
  #left = 0;
  /** Bytes of an incomplete line as Latin-1, because a decoder would cost each robot 0.3 KB. */
  #line = '';
  #id: string | undefined;
  #event: string | undefined;
  #data: string | undefined;

  constructor(handlers: SseHandlers) {
    this.#handlers = handlers;
  }

  get ended(): boolean {
    return this.#state === 'ended';
  }

  push(bytes: Buffer): void {
    let rest = this.#pending === undefined ? bytes : Buffer.concat([this.#pending, bytes]);
    this.#pending = undefined;
    while (rest.length > 0 && this.#state !== 'ended') {
      const used = this.#consume(rest);
      if (used === 0) {
        if (rest.length > 16 * 1024) throw new Error('a head or chunk size of more than 16 KiB');
        this.#pending = Buffer.from(rest);
        return;
      }
      rest = rest.subarray(used);
    }
  }

  #consume(bytes: Buffer): number {
    switch (this.#state) {
      case 'head': {
        const end = bytes.indexOf('\r\n\r\n');
        if (end === -1) return 0;
        const text = bytes.toString('latin1', 0, end);
        const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
        if (status === undefined) throw new Error('an answer that does not begin with HTTP/1.1');
        this.#state = /\r\ntransfer-encoding:\s*chunked/i.test(text) ? 'size' : 'plain';
        this.#handlers.head(Number(status));
        return end + 4;
      }
      case 'size': {
        const end = bytes.indexOf('\r\n');
        if (end === -1) return 0;
        this.#left = Number.parseInt(bytes.toString('latin1', 0, end), 16);
        if (Number.isNaN(this.#left)) throw new Error('a chunk without a size');
        this.#state = this.#left === 0 ? 'ended' : 'chunk';
        return end + 2;
      }
      case 'chunk': {
        const length = Math.min(this.#left, bytes.length);
        this.#text(bytes.toString('latin1', 0, length));
        this.#left -= length;
        if (this.#left === 0) this.#state = 'chunk-end';
        return length;
      }
      case 'chunk-end':
        if (bytes.length < 2) return 0;
        this.#state = 'size';
        return 2;
      default:
        this.#text(bytes.toString('latin1'));
        return bytes.length;
    }
  }

  #text(text: string): void {
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      const line = Buffer.from(this.#line + text.slice(from, end), 'latin1').toString();
      this.#line = '';
      this.#field(line.endsWith('\r') ? line.slice(0, -1) : line);
      from = end + 1;
    }
    this.#line += text.slice(from);
  }

  #field(line: string): void {
    if (line === '') {
      if (this.#data !== undefined) this.#handlers.frame({ id: this.#id, event: this.#event, data: this.#data });
      this.#id = this.#event = this.#data = undefined;
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'id') this.#id = value;
    else if (name === 'event') this.#event = value;
    else if (name === 'data') this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
  }
}

export type StreamFault = Pick<Violation, 'kind' | 'message'>;

/** Checks order, completeness and stable ids of the events over all connections of a client. */
export class StreamCheck {
  last: number;
  #recent: { id: number; text: string }[] = [];
  #firstOfConnection = true;
  #unused: { from: number; to: number }[] = [];

  constructor(cursor: number) {
    this.last = cursor;
  }

  connecting(): void {
    this.#firstOfConnection = true;
  }

  /** Status 410 is a fault unless the cursor precedes the earliest retained event (section 7 of the specification). */
  expired({ earliest, latest }: { earliest: number; latest: number }): StreamFault | undefined {
    const cursor = this.last;
    this.last = latest;
    this.#recent = [];
    if (cursor < earliest) return undefined;
    const retained = `ids ${earliest} to ${latest} are retained`;
    return { kind: 'loss', message: `the cursor at id ${cursor} was answered 410 although ${retained}` };
  }

  mayBeUnused(from: number, to: number): void {
    this.#unused = [...this.#unused.filter((range) => range.to > this.last), { from, to }];
  }

  /** `text`: JSON of the event as received; `fresh`: false for an id that is not above all earlier ones. */
  see(id: number, text: string): { fresh: boolean; fault?: StreamFault } {
    const first = this.#firstOfConnection;
    this.#firstOfConnection = false;
    if (id <= this.last) {
      const known = this.#recent.find((event) => event.id === id);
      if (known !== undefined && known.text !== text)
        return { fresh: false, fault: { kind: 'renumbered', message: `id ${id} came again with different content` } };
      if (first || known !== undefined) return { fresh: false };
      return { fresh: false, fault: { kind: 'reorder', message: `id ${id} came after id ${this.last}` } };
    }
    const expected = this.last + 1;
    this.last = id;
    this.#recent.push({ id, text });
    if (this.#recent.length > 8) this.#recent.shift();
    if (id === expected || this.#excused(expected, id - 1)) return { fresh: true };
    const missing = expected === id - 1 ? `id ${expected}` : `ids ${expected} to ${id - 1}`;
    const where = first ? 'lost across a reconnect' : 'missing within a connection';
    const message = `${missing} ${where}: after id ${expected - 1} came id ${id}`;
    return { fresh: true, fault: { kind: first ? 'loss' : 'gap', message } };
  }

  finish(newest: number): StreamFault | undefined {
    if (newest <= this.last || this.#excused(this.last + 1, newest)) return undefined;
    return { kind: 'loss', message: `ids ${this.last + 1} to ${newest} were published and never read` };
  }

  #excused(from: number, to: number): boolean {
    let next = from;
    for (const range of this.#unused) if (range.from <= next && next <= range.to) next = range.to + 1;
    return next > to;
  }
}

interface SubscriberOptions {
  socketPath: string;
  cursor: number;
  onEvent(id: number, type: string, text: string): void;
  onFault(fault: StreamFault): void;
  onCount(name: 'connected' | 'lost' | 'refused' | 'expired'): void;
  /** Ids of the retained events; undefined while the robot is down, so that the cursor stays. */
  retained(): { earliest: number; latest: number } | undefined;
}

const AT_ONCE = -1;

export class Subscriber {
  readonly #options: SubscriberOptions;
  readonly check: StreamCheck;
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #stopped = false;
  streaming = false;

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.check = new StreamCheck(options.cursor);
  }

  start(): void {
    this.#stopped = false;
    this.#connect();
  }

  drop(): void {
    if (this.#stopped) return;
    this.#failures = AT_ONCE;
    if (this.#socket === undefined) {
      clearTimeout(this.#timer);
      this.#connect();
    } else this.#socket.destroy();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#socket?.destroy();
  }

  #connect(): void {
    const { onCount, onFault, retained } = this.#options;
    const socket = connect({ path: this.#options.socketPath });
    this.#socket = socket;
    this.check.connecting();
    const reader = new SseReader({
      head: (status) => {
        if (status === 200) {
          this.streaming = true;
          this.#failures = 0;
          return onCount('connected');
        }
        if (status === 410) {
          const range = retained();
          const fault = range && this.check.expired(range);
          if (fault !== undefined) onFault(fault);
        }
        onCount(status === 410 ? 'expired' : 'refused');
        socket.destroy();
      },
      frame: ({ id, event, data }) => this.#frame(id, event, data),
    });
    socket.on('connect', () => {
      const line = `GET ${DEVICE_API_PREFIX}/events?after=${this.check.last} HTTP/1.1`;
      socket.write(`${line}\r\nHost: robot\r\nAccept: text/event-stream\r\n\r\n`);
    });
    socket.on('data', (bytes: Buffer) => {
      try {
        reader.push(bytes);
      } catch {
        socket.destroy();
      }
      if (reader.ended) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      if (this.streaming && !this.#stopped) onCount('lost');
      this.streaming = false;
      this.#socket = undefined;
      if (this.#stopped) return;
      const delay = this.#failures === AT_ONCE ? 0 : backoffMs({ firstMs: 50, longestMs: 2000 }, this.#failures);
      this.#timer = setTimeout(() => this.#connect(), delay);
      this.#failures += 1;
    });
  }

  #frame(id: string | undefined, event: string | undefined, text: string): void {
    const number = Number(id);
    if (id === undefined || !Number.isInteger(number)) {
      this.#options.onFault({ kind: 'gap', message: `an event came without an integer id (${id ?? 'none'})` });
      return;
    }
    const { fresh, fault } = this.check.see(number, text);
    if (fault !== undefined) this.#options.onFault(fault);
    if (fresh) this.#options.onEvent(number, event ?? '', text);
  }
}
