/** Parses one direction of an HTTP/1.1 connection (RFC 9112) incrementally, and stops at ambiguous bytes. */
import { Bytes } from './bytes.ts';

export type Pairs = readonly (readonly [name: string, value: string])[];

export interface Head {
  readonly line: string;
  readonly headers: Pairs;
}

/**
 * Rule for the end of a body. `framed`: the length or last chunk ends the body; without either, there is no body.
 * `rest`: as `framed`, but without either, the end of the connection ends the body. `none`: no body.
 */
export type BodyRule = 'framed' | 'none' | 'rest';

export interface MessageSink {
  head(head: Head, at: number): BodyRule | undefined;
  body(piece: Buffer, at: number): void;
  end(at: number): void;
  wrong(why: string): void;
}

/** Bytes of a head; most servers allow 8 or 16 KiB. */
const LONGEST_HEAD = 64 * 1024;
const LONGEST_LINE = 16 * 1024;
const LF = 10;

type State = 'head' | 'length' | 'size' | 'chunk' | 'chunk end' | 'trailers' | 'rest' | 'stopped';

export class MessageParser {
  readonly #sink: MessageSink;
  readonly #kept = new Bytes(LONGEST_HEAD);
  #state: State = 'head';
  #left = 0;
  #trailerBytes = 0;

  constructor(sink: MessageSink) {
    this.#sink = sink;
  }

  get idle(): boolean {
    return this.#state === 'head' && this.#kept.length === 0;
  }

  get held(): number {
    return this.#kept.capacity;
  }

  get stopped(): boolean {
    return this.#state === 'stopped';
  }

  stop(): void {
    this.#state = 'stopped';
    this.#kept.clear();
  }

  push(bytes: Buffer, at: number): void {
    let rest = bytes;
    while (rest.length > 0 && this.#state !== 'stopped') rest = this.#step(rest, at);
  }

  end(at: number): boolean {
    if (this.#state === 'rest') this.#complete(at);
    return this.#state === 'stopped' || this.idle;
  }

  #step(bytes: Buffer, at: number): Buffer {
    if (this.#state === 'head') return this.#head(bytes, at);
    if (this.#state === 'length' || this.#state === 'chunk') return this.#piece(bytes, at);
    if (this.#state !== 'rest') return this.#line(bytes, at);
    this.#sink.body(bytes, at);
    return NOTHING;
  }

  #head(bytes: Buffer, at: number): Buffer {
    // Skips empty lines before a message (RFC 9112, section 2.2).
    const start = this.#kept.length === 0 ? bytes.findIndex((byte) => byte !== 10 && byte !== 13) : 0;
    if (start === -1) return NOTHING;
    const fresh = bytes.subarray(start);
    const before = this.#kept.length;
    // Tolerates a cut if the kept bytes hold the whole head, because the rest may belong to a long body.
    const fits = before === 0 || this.#kept.append(fresh);
    const whole = before === 0 ? fresh : this.#kept.view();
    const end = endOfHead(whole, Math.max(0, before - 3));
    if (end === -1) {
      if (!(before === 0 ? this.#kept.append(fresh) : fits)) this.#wrong(`a head of more than ${LONGEST_HEAD} bytes`);
      return NOTHING;
    }
    const head = headOf(whole.subarray(0, end).toString('latin1'));
    this.#kept.clear();
    if (typeof head === 'string') return this.#wrong(head);
    this.#begin(head, at);
    return fresh.subarray(end - before);
  }

  #begin(head: Head, at: number): void {
    const rule = this.#sink.head(head, at);
    if (this.#state === 'stopped') return;
    const framing = rule === 'none' ? NO_BODY : framingOf(head.headers);
    if (rule === undefined) this.stop();
    else if (typeof framing === 'string') this.#wrong(framing);
    else if (framing.chunked) this.#state = 'size';
    else if (framing.length === undefined && rule === 'rest') this.#state = 'rest';
    else {
      this.#left = framing.length ?? 0;
      if (this.#left === 0) this.#complete(at);
      else this.#state = 'length';
    }
  }

  #piece(bytes: Buffer, at: number): Buffer {
    const piece = bytes.subarray(0, this.#left);
    this.#left -= piece.length;
    this.#sink.body(piece, at);
    if (this.stopped) return NOTHING;
    if (this.#left === 0) {
      if (this.#state === 'length') this.#complete(at);
      else this.#state = 'chunk end';
    }
    return bytes.subarray(piece.length);
  }

  #line(bytes: Buffer, at: number): Buffer {
    const end = bytes.indexOf(LF);
    this.#kept.append(end === -1 ? bytes : bytes.subarray(0, end));
    if (this.#kept.length > LONGEST_LINE) return this.#wrong(`a line of more than ${LONGEST_LINE} bytes in a body`);
    if (end === -1) return NOTHING;
    const line = this.#kept.view().toString('latin1').replace(/\r$/, '');
    this.#kept.drop(this.#kept.length);
    this.#take(line, at);
    return bytes.subarray(end + 1);
  }

  #take(line: string, at: number): void {
    if (this.#state === 'chunk end') {
      if (line === '') this.#state = 'size';
      else this.#wrong('a chunk that is longer than its size');
    } else if (this.#state === 'size') {
      const [, digits] = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i.exec(line) ?? [];
      if (digits === undefined) return void this.#wrong('a chunk without a size');
      this.#left = Number.parseInt(digits, 16);
      this.#state = this.#left === 0 ? 'trailers' : 'chunk';
      this.#trailerBytes = 0;
    } else if (line === '') this.#complete(at);
    else {
      this.#trailerBytes += line.length;
      if (this.#trailerBytes > LONGEST_HEAD) this.#wrong('trailers without an end');
    }
  }

  #complete(at: number): void {
    this.#state = 'head';
    this.#sink.end(at);
  }

  #wrong(why: string): Buffer {
    this.stop();
    this.#sink.wrong(why);
    return NOTHING;
  }
}

const NOTHING = Buffer.alloc(0);
const NO_BODY = { chunked: false, length: 0 } as const;

/** Index behind the empty line that ends a head, or -1; accepts LF without CR (RFC 9112, section 2.2). */
function endOfHead(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === 13 && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}

const known = new Map<string, Pairs>();

function headOf(text: string): Head | string {
  const end = text.indexOf('\n') + 1;
  const [line, fields] = [text.slice(0, end).replace(/\r?\n$/, ''), text.slice(end)];
  const before = known.get(fields);
  if (before !== undefined) return { line, headers: before };
  const headers: [string, string][] = [];
  for (const field of fields.split(/\r?\n/)) {
    if (field === '') continue;
    const [, name, given] = /^([^\s:]+):(.*)$/s.exec(field) ?? [];
    const value = given && withoutBlanks(given);
    if (name === undefined || value === undefined) return 'a line in a head that is no field';
    headers.push([name, value]);
  }
  if (fields.length <= 1000) {
    if (known.size >= 200) known.clear();
    known.set(fields, headers);
  }
  return { line, headers };
}

/** Steps over blanks one by one, because a regular expression for both ends takes quadratic time. */
function withoutBlanks(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && ' \t'.includes(text[from] ?? '-')) from += 1;
  while (to > from && ' \t'.includes(text[to - 1] ?? '-')) to -= 1;
  return text.slice(from, to);
}

export const valuesOf = (headers: Pairs, name: string): string[] =>
  headers.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);

export const isEventStream = (status: number | undefined, type = ''): boolean =>
  status === 200 && /^text\/event-stream\b/i.test(type);

export function joined(headers: Pairs): Record<string, string> {
  const all: Record<string, string> = Object.create(null);
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    all[lower] = lower in all ? `${all[lower]}, ${value}` : value;
  }
  return all;
}

const LONGEST_REASON = 80;

export const clipped = (reason: string): string =>
  reason.length > LONGEST_REASON ? `${reason.slice(0, LONGEST_REASON)}…` : reason;

/** Framing of a body, or the reason why readers may disagree about it (RFC 9112, section 6). */
function framingOf(headers: Pairs): { chunked: boolean; length?: number } | string {
  const codings = valuesOf(headers, 'transfer-encoding').join(',');
  const lengths = new Set(valuesOf(headers, 'content-length'));
  if (codings !== '') {
    if (lengths.size > 0) return 'both Transfer-Encoding and Content-Length';
    return codings.trim().toLowerCase() === 'chunked' ? { chunked: true } : clipped(`Transfer-Encoding: ${codings}`);
  }
  const [length] = lengths;
  if (length === undefined) return { chunked: false };
  if (lengths.size > 1 || !/^\d{1,15}$/.test(length)) return clipped(`Content-Length: ${[...lengths].join(' and ')}`);
  return { chunked: false, length: Number(length) };
}
