/** Reads the body of an answer within bounds of time and memory, whatever the target sends. */
import type { Readable } from 'node:stream';
import { Bytes } from '../common/bytes.ts';
import type { Patience } from '../common/waiting.ts';
import { CODINGS } from './codings.ts';
import { NoAnswer } from './errors.ts';

/** The first and the last bytes of what comes in pieces. */
export class BothEnds {
  readonly #head: Bytes;
  readonly #tail: Bytes;
  readonly #kept: number;
  #length = 0;

  /** Bytes of each end that are kept; of the last, up to twice as many. */
  constructor(head: number, tail: number) {
    this.#head = new Bytes(head);
    this.#tail = new Bytes(2 * tail);
    this.#kept = tail;
  }

  /** The first bytes: only valid until the next call of `append`. */
  get head(): Buffer {
    return this.#head.view();
  }

  append(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#head.append(piece)) return;
    const last = piece.subarray(-this.#kept);
    if (this.#tail.length + last.length > 2 * this.#kept)
      this.#tail.drop(Math.min(this.#tail.length, this.#tail.length + last.length - this.#kept));
    this.#tail.append(last);
  }

  /** All of it; or both ends with `…` between them, and how long all of it is. */
  known(): { body: Buffer | string; size?: string } {
    const tail = this.#tail.view();
    const beyond = this.#length - this.#head.length;
    if (tail.length >= beyond) return { body: Buffer.concat([this.head, tail.subarray(tail.length - beyond)]) };
    // Half a character would hide the rest of a secret from what masks it.
    const whole = tail.subarray(tail.findIndex((byte) => (byte & 0xc0) !== 0x80));
    return { body: `${this.head.toString()}…${whole.toString()}`, size: `${this.#length} bytes` };
  }
}

const MIB = 1024 * 1024;
/** More than a hundred items of a list take, each with a config of 150 KiB. */
const LARGEST_BODY = 16 * MIB;
/** Bodies up to this size are read side by side. */
const SMALL_BODY = MIB;
/** JSON in more levels, or with more values, than any answer has would take too much memory as objects. */
const DEEPEST_JSON = 500;
const MOST_VALUES = 250_000;

/** Reads bodies for one target: large ones one at a time, so that many at once do not fill the memory. */
export class BodyReader {
  #turn: Promise<unknown> = Promise.resolve();
  #unpacking: Promise<unknown> = Promise.resolve();

  /**
   * All of the body. `patience` is renewed by every piece. Throws NoAnswer when it is too large, and what the body
   * throws.
   */
  async read(body: Readable, patience: Patience): Promise<Buffer> {
    const bytes = new Bytes(LARGEST_BODY);
    const over = Promise.withResolvers<void>();
    let large = false;
    try {
      for await (const piece of body) {
        if (!large && bytes.length + (piece as Buffer).length > SMALL_BODY) {
          large = true;
          await patience.hold(this.#takeTurn(over.promise));
        }
        patience.renew();
        if (!bytes.append(piece as Buffer)) throw new NoAnswer(`a body larger than ${LARGEST_BODY / MIB} MiB`);
      }
      return bytes.view();
    } catch (error) {
      bytes.clear();
      throw error;
    } finally {
      over.resolve();
    }
  }

  /** As `withoutCodings`, for one body at a time. */
  unpacked(bytes: Buffer, contentEncoding: string | undefined): Promise<Buffer> {
    const mine = this.#unpacking.then(() => withoutCodings(bytes, contentEncoding));
    this.#unpacking = mine.catch(() => {});
    return mine;
  }

  async #takeTurn(over: Promise<void>): Promise<void> {
    const before = this.#turn;
    this.#turn = before.then(() => over);
    await before;
  }
}

/**
 * The body without its content codings, which a server may choose freely where a request names none (RFC 9110, section
 * 12.5.3); as it is where one of them is unknown. Throws NoAnswer when it is too large, or not in its coding.
 */
async function withoutCodings(bytes: Buffer, contentEncoding = ''): Promise<Buffer> {
  const codings = contentEncoding.split(',').map((coding) => coding.trim().toLowerCase());
  let body = bytes;
  for (const coding of codings.toReversed()) {
    const known = CODINGS.get(coding);
    if (known === undefined || body.length === 0) return body;
    try {
      body = await known.unpack(body, { maxOutputLength: LARGEST_BODY });
    } catch (error) {
      const isLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
      const why = isLarge ? `larger than ${LARGEST_BODY / MIB} MiB, once it is unpacked` : `that is no ${coding}`;
      throw new NoAnswer(`a body ${why}`, { cause: error });
    }
  }
  return body;
}

/** JSON as a value; undefined when the text is not JSON, or has too many levels or values to be an answer. */
export function parseJson(text: string): unknown {
  if (!isModest(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

function isModest(text: string): boolean {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length && depth <= DEEPEST_JSON && values <= MOST_VALUES; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) at = endOfString(text, at);
    else if (sign === COMMA) values += 1;
    else if (CLOSING.has(sign)) depth -= 1;
    else if (OPENING.has(sign)) {
      depth += 1;
      values += 1;
    }
  }
  return depth <= DEEPEST_JSON && values <= MOST_VALUES;
}

/** Where the quote stands that ends the string; the end of the text when there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === BACKSLASH) at += 1;
    else if (sign === QUOTE) return at;
  }
  return text.length;
}
