/**
 * Splits the bytes of an event stream into frames and comments, as the WHATWG standard reads them. Written by hand because it keeps
 * what parsers for clients drop: comments, offsets, line ends, invalid bytes and unfinished blocks.
 */

/** A block of the stream that holds at least one field. */
export interface SseFrame {
  /** Value of the last `id` field, as sent. */
  id?: string;
  /** Value of the last `event` field. */
  event?: string;
  /** `data` fields joined with a newline. */
  data?: string;
  retry?: string;
  /** Every field in order, known or not. */
  fields: readonly { name: string; value: string }[];
  /** Whether a client dispatches an event for it: only blocks with `data` count. */
  dispatched: boolean;
  /** What a client would send as `Last-Event-ID` from here on. */
  lastEventId: string;
  /** When the chunk that completed it arrived, milliseconds of `performance.now()`. */
  at: number;
  /** Where it ends in the stream: the number of bytes up to and including its blank line. */
  end: number;
}

/** A line that begins with a colon. */
export interface SseComment {
  /** Text after the colon, without one leading space. */
  text: string;
  at: number;
  end: number;
}

/** How the stream is framed, apart from what it says. */
export interface SseFraming {
  bom: boolean;
  lf: number;
  crlf: number;
  cr: number;
  /** Lines that are no valid UTF-8; read with replacement characters. */
  invalidUtf8: number;
  /** Names of fields that the standard does not know; clients ignore them. */
  unknownFields: Set<string>;
  /** Ids that hold a NUL; clients ignore them. */
  nulIds: number;
  /** `retry` values that are not all digits; clients ignore them. */
  badRetries: number;
}

/** Receives what was parsed, in order. */
export interface SseSink {
  frame(frame: SseFrame): void;
  comment(comment: SseComment): void;
}

/** Longer than any line of a conformant stream; a server that never ends a line must not fill the memory. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const LF = 10;
const CR = 13;

/** A line was longer than the parser takes. */
export class LineTooLong extends Error {
  override name = 'LineTooLong';
}

/** Parses one stream. Throws LineTooLong. */
export class SseParser {
  readonly framing: SseFraming = {
    bom: false,
    lf: 0,
    crlf: 0,
    cr: 0,
    invalidUtf8: 0,
    unknownFields: new Set(),
    nulIds: 0,
    badRetries: 0,
  };
  readonly #sink: SseSink;
  readonly #maxLineBytes: number;
  readonly #strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #lenient = new TextDecoder('utf-8', { ignoreBOM: true });
  /** Pieces of a line that is not over yet. */
  #carry: Uint8Array[] = [];
  #carried = 0;
  #bytes = 0;
  #firstLine = true;
  #afterCr = false;
  #fields: { name: string; value: string }[] = [];
  #data: string[] | undefined;
  #id: string | undefined;
  #event: string | undefined;
  #retry: string | undefined;
  #idBuffer = '';
  #lastEventId = '';

  constructor(sink: SseSink, maxLineBytes = MAX_LINE_BYTES) {
    this.#sink = sink;
    this.#maxLineBytes = maxLineBytes;
  }

  /** Bytes taken in so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether a line or a block has begun and not ended. A client drops it if the stream ends here. */
  get unfinished(): boolean {
    return this.#carried > 0 || this.#fields.length > 0;
  }

  /** `Last-Event-ID` of a client after the last whole block. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  /** Takes the next bytes, split anywhere. `at` is when they arrived. */
  push(chunk: Uint8Array, at: number): void {
    let start = 0;
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index];
      if (this.#afterCr) {
        this.#afterCr = false;
        if (byte === LF) {
          this.framing.crlf += 1;
          start = index + 1;
          continue;
        }
        this.framing.cr += 1;
      }
      if (byte !== LF && byte !== CR) continue;
      const line = this.#line(chunk.subarray(start, index));
      start = index + 1;
      // A carriage return ends the line at once; whether a line feed belongs to it shows later, maybe in another chunk.
      if (byte === CR) this.#afterCr = true;
      else this.framing.lf += 1;
      this.#take(line, at, this.#bytes + start);
    }
    this.#bytes += chunk.length;
    if (start < chunk.length) {
      this.#carry.push(chunk.slice(start));
      this.#carried += chunk.length - start;
      if (this.#carried > this.#maxLineBytes) throw new LineTooLong(`a line longer than ${this.#maxLineBytes} bytes`);
    }
  }

  #line(rest: Uint8Array): string {
    const bytes = this.#carried === 0 ? rest : Buffer.concat([...this.#carry, rest]);
    this.#carry = [];
    this.#carried = 0;
    let text: string;
    try {
      text = this.#strict.decode(bytes);
    } catch {
      this.framing.invalidUtf8 += 1;
      text = this.#lenient.decode(bytes);
    }
    if (this.#firstLine) {
      this.#firstLine = false;
      if (text.startsWith('\uFEFF')) {
        this.framing.bom = true;
        return text.slice(1);
      }
    }
    return text;
  }

  #take(line: string, at: number, end: number): void {
    if (line === '') {
      this.#dispatch(at, end);
      return;
    }
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const rest = colon === -1 ? '' : line.slice(colon + 1);
    const value = rest.startsWith(' ') ? rest.slice(1) : rest;
    if (colon === 0) {
      this.#sink.comment({ text: value, at, end });
      return;
    }
    this.#fields.push({ name, value });
    switch (name) {
      case 'id':
        this.#id = value;
        if (value.includes('\0')) this.framing.nulIds += 1;
        else this.#idBuffer = value;
        break;
      case 'event':
        this.#event = value;
        break;
      case 'data':
        this.#data ??= [];
        this.#data.push(value);
        break;
      case 'retry':
        this.#retry = value;
        if (!/^\d+$/.test(value)) this.framing.badRetries += 1;
        break;
      default:
        this.framing.unknownFields.add(name);
    }
  }

  #dispatch(at: number, end: number): void {
    if (this.#fields.length === 0) return;
    this.#lastEventId = this.#idBuffer;
    const frame: SseFrame = {
      ...(this.#id === undefined ? {} : { id: this.#id }),
      ...(this.#event === undefined ? {} : { event: this.#event }),
      ...(this.#data === undefined ? {} : { data: this.#data.join('\n') }),
      ...(this.#retry === undefined ? {} : { retry: this.#retry }),
      fields: this.#fields,
      dispatched: this.#data !== undefined,
      lastEventId: this.#lastEventId,
      at,
      end,
    };
    this.#fields = [];
    this.#data = undefined;
    this.#id = undefined;
    this.#event = undefined;
    this.#retry = undefined;
    this.#sink.frame(frame);
  }
}
