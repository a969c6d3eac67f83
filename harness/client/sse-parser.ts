/** Parses event streams (WHATWG), with details that clients drop, e.g. comments and offsets. */

import { Bytes } from '../common/bytes.ts';
import { defined } from '../common/defined.ts';

export interface SseFrame {
  id?: string;
  event?: string;
  data?: string;
  retry?: string;
  fields: readonly { name: string; value: string }[];
  /** False for a block without `data`, which clients ignore. */
  dispatched: boolean;
  /** `Last-Event-ID` that a client sends after the frame. */
  lastEventId: string;
  at: number;
  end: number;
}

export interface SseComment {
  text: string;
  at: number;
  end: number;
}

const OBJECT_BYTES = 700;
const FIELD_BYTES = 200;

export const frameBytes = ({ fields }: SseFrame): number =>
  fields.reduce((sum, { name, value }) => sum + FIELD_BYTES + 2 * (name.length + value.length), OBJECT_BYTES);

export const commentBytes = ({ text }: SseComment): number => OBJECT_BYTES + 2 * text.length;

export interface SseSink {
  frame(frame: SseFrame): void;
  comment?(comment: SseComment): void;
}

/** Bounds memory; an event has about 400 bytes. */
const MAX_BLOCK_BYTES = 2 * 1024 * 1024;
const LF = 10;
const CR = 13;
const COLON = 58;

export class BlockTooLarge extends Error {
  override name = 'BlockTooLarge';
  constructor(what: 'line' | 'block') {
    super(`a ${what} larger than ${MAX_BLOCK_BYTES} bytes`);
  }
}

export class SseParser {
  readonly #sink: SseSink;
  readonly #strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #lenient = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #carry = new Bytes(MAX_BLOCK_BYTES);
  bytes = 0;
  /** Number of lines that are no UTF-8. */
  invalidLines = 0;
  #fieldBytes = 0;
  #commentBytes = 0;
  #dropped = false;
  #blockBytes = 0;
  #firstLine = true;
  #afterCr = false;
  #fields: { name: string; value: string }[] = [];
  #idBuffer = '';
  lastEventId = '';

  constructor(sink: SseSink) {
    this.#sink = sink;
  }

  get held(): number {
    return this.#carry.capacity + 2 * this.#blockBytes;
  }

  /** True within an incomplete line or block, which clients drop at the stream's end. */
  get unfinished(): boolean {
    return this.#dropped || this.#carry.length > 0 || this.#fields.length > 0;
  }

  end(): void {
    this.#dropped = this.unfinished;
    this.#carry.clear();
    this.#fields = [];
  }

  get fieldBytes(): number {
    return this.#fieldBytes + (this.#carry.view()[0] === COLON ? 0 : this.#carry.length);
  }

  get lineBytes(): number {
    return this.#fieldBytes + this.#commentBytes + this.#carry.length;
  }

  /** `at`: milliseconds at the arrival. Throws BlockTooLarge. */
  push(chunk: Uint8Array, at: number): void {
    let start = 0;
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index];
      if (this.#afterCr) {
        this.#afterCr = false;
        if (byte === LF) {
          start = index + 1;
          continue;
        }
      }
      if (byte !== LF && byte !== CR) continue;
      const line = this.#line(chunk.subarray(start, index));
      start = index + 1;
      // Ends the line at a CR, because its LF may come in the next chunk.
      this.#afterCr = byte === CR;
      this.#take(line, at, this.bytes + start);
    }
    this.bytes += chunk.length;
    if (start < chunk.length) this.#carryOn(chunk.subarray(start));
  }

  #carryOn(bytes: Uint8Array): void {
    if (!this.#carry.append(bytes)) throw new BlockTooLarge('line');
  }

  #line(rest: Uint8Array): string {
    if (this.#carry.length === 0) return this.#decode(rest);
    this.#carryOn(rest);
    const line = this.#decode(this.#carry.view());
    if (this.#carry.length > 64 * 1024) this.#carry.clear();
    else this.#carry.drop(this.#carry.length);
    return line;
  }

  #decode(bytes: Uint8Array): string {
    if (bytes[0] === COLON) this.#commentBytes += bytes.length;
    else this.#fieldBytes += bytes.length;
    let text: string;
    try {
      text = this.#strict.decode(bytes);
    } catch {
      this.invalidLines += 1;
      text = this.#lenient.decode(bytes);
    }
    if (this.#firstLine) {
      this.#firstLine = false;
      if (text.startsWith('\uFEFF')) return text.slice(1);
    }
    return text;
  }

  #take(line: string, at: number, end: number): void {
    if (line === '') return void this.#dispatch(at, end);
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const rest = colon === -1 ? '' : line.slice(colon + 1);
    const value = rest.startsWith(' ') ? rest.slice(1) : rest;
    if (colon === 0) return void this.#sink.comment?.({ text: beginning(value, 1000), at, end });
    this.#blockBytes += FIELD_BYTES + line.length;
    if (this.#blockBytes > MAX_BLOCK_BYTES) throw new BlockTooLarge('block');
    this.#fields.push({ name, value });
    // Clients ignore an id with a NUL.
    if (name === 'id' && !value.includes('\0')) this.#idBuffer = value;
  }

  #dispatch(at: number, end: number): void {
    if (this.#fields.length === 0) return;
    const fields = this.#fields;
    const lastOf = (wanted: string): string | undefined => fields.findLast(({ name }) => name === wanted)?.value;
    const lines = fields.filter(({ name }) => name === 'data').map(({ value }) => value);
    const dispatched = lines.length > 0;
    const data = dispatched ? lines.join('\n') : undefined;
    this.lastEventId = this.#idBuffer;
    this.#fields = [];
    this.#blockBytes = 0;
    const values = defined({ id: lastOf('id'), event: lastOf('event'), data, retry: lastOf('retry') });
    this.#sink.frame({ ...values, fields, dispatched, lastEventId: this.lastEventId, at, end });
  }
}

const beginning = (text: string, limit: number): string =>
  text.length <= limit ? text : Buffer.from(text.slice(0, limit)).toString('utf8');
