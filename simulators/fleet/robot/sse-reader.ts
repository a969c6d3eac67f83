/**
 * The bytes of one answer of an event stream, read with as little memory as thousands of readers in one process allow:
 * HTTP head, chunked or plain body, SSE fields. No HTTP client is used, because each would cost more than the robot it reads.
 */
import { StringDecoder } from 'node:string_decoder';

export interface SseFrame {
  id: string | undefined;
  event: string | undefined;
  data: string;
}

export interface SseHandlers {
  /** Once, when the head of the answer is complete. */
  head(status: number): void;
  frame(frame: SseFrame): void;
  comment?(): void;
}

/** What the server sent is not HTTP/1.1. */
export class BadAnswer extends Error {
  override name = 'BadAnswer';
}

const MAX_HEAD = 16 * 1024;

export class SseReader {
  readonly #handlers: SseHandlers;
  readonly #decoder = new StringDecoder('utf8');
  #state: 'head' | 'size' | 'chunk' | 'chunk-end' | 'plain' | 'ended' = 'head';
  /** Bytes of a head or chunk size that has not come whole yet. */
  #pending: Buffer | undefined;
  #left = 0;
  #line = '';
  #id: string | undefined;
  #event: string | undefined;
  #data: string | undefined;

  constructor(handlers: SseHandlers) {
    this.#handlers = handlers;
  }

  /** True once the body was ended by the server's own framing. */
  get ended(): boolean {
    return this.#state === 'ended';
  }

  /** Throws BadAnswer. */
  push(bytes: Buffer): void {
    let rest = this.#pending === undefined ? bytes : Buffer.concat([this.#pending, bytes]);
    this.#pending = undefined;
    while (rest.length > 0 && this.#state !== 'ended') {
      const used = this.#take(rest);
      if (used === 0) {
        if (rest.length > MAX_HEAD) throw new BadAnswer('a head or chunk size of more than 16 KiB');
        this.#pending = Buffer.from(rest);
        return;
      }
      rest = rest.subarray(used);
    }
  }

  /** Takes from the front what the state is waiting for; 0 when it has not come whole. */
  #take(bytes: Buffer): number {
    switch (this.#state) {
      case 'head': {
        const end = bytes.indexOf('\r\n\r\n');
        if (end === -1) return 0;
        this.#head(bytes.toString('latin1', 0, end));
        return end + 4;
      }
      case 'size': {
        const end = bytes.indexOf('\r\n');
        if (end === -1) return 0;
        this.#left = Number.parseInt(bytes.toString('latin1', 0, end), 16);
        if (Number.isNaN(this.#left)) throw new BadAnswer('a chunk without a size');
        this.#state = this.#left === 0 ? 'ended' : 'chunk';
        return end + 2;
      }
      case 'chunk': {
        const length = Math.min(this.#left, bytes.length);
        this.#text(this.#decoder.write(bytes.subarray(0, length)));
        this.#left -= length;
        if (this.#left === 0) this.#state = 'chunk-end';
        return length;
      }
      case 'chunk-end':
        if (bytes.length < 2) return 0;
        this.#state = 'size';
        return 2;
      default:
        this.#text(this.#decoder.write(bytes));
        return bytes.length;
    }
  }

  #head(text: string): void {
    const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
    if (status === undefined) throw new BadAnswer('an answer that does not begin with HTTP/1.1');
    this.#state = /\r\ntransfer-encoding:\s*chunked/i.test(text) ? 'size' : 'plain';
    this.#handlers.head(Number(status));
  }

  #text(text: string): void {
    let from = 0;
    for (;;) {
      const end = text.indexOf('\n', from);
      if (end === -1) break;
      const line = this.#line + text.slice(from, end);
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
    if (colon === 0) {
      this.#handlers.comment?.();
      return;
    }
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'id') this.#id = value;
    else if (name === 'event') this.#event = value;
    else if (name === 'data') this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
  }
}
