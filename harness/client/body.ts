/** Reads answer bodies, coded with gzip, deflate, br or zstd (RFC 9110, section 8.4.1), bounded in time and memory. */
import { pipeline, type Readable, type Transform } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliDecompress,
  brotliDecompressSync,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  gunzip,
  gunzipSync,
  inflate,
  inflateSync,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib';
import { Bytes } from '../common/bytes.ts';
import type { Patience } from '../common/waiting.ts';
import { BodyTooLarge, NoAnswer } from './errors.ts';

interface Coding {
  unpack(bytes: Buffer, limit: { maxOutputLength: number }): Promise<Buffer>;
  unpackSync(bytes: Buffer, limit: { maxOutputLength: number }): Buffer;
  decoder(): Transform;
}

const GZIP: Coding = { unpack: promisify(gunzip), unpackSync: gunzipSync, decoder: createGunzip };

export const CODINGS: ReadonlyMap<string, Coding> = new Map([
  ['gzip', GZIP],
  ['x-gzip', GZIP],
  ['deflate', { unpack: promisify(inflate), unpackSync: inflateSync, decoder: createInflate }],
  ['br', { unpack: promisify(brotliDecompress), unpackSync: brotliDecompressSync, decoder: createBrotliDecompress }],
  ['zstd', { unpack: promisify(zstdDecompress), unpackSync: zstdDecompressSync, decoder: createZstdDecompress }],
]);

export const isCoded = (contentEncoding = ''): boolean => !/^(?:identity)?$/i.test(contentEncoding);

export function decoded(body: Readable, contentEncoding = ''): Readable {
  const coding = CODINGS.get(contentEncoding.trim().toLowerCase());
  return coding === undefined ? body : pipeline(body, coding.decoder(), () => {});
}

export class BothEnds {
  readonly #head: Bytes;
  readonly #tail: Bytes;
  readonly #kept: number;
  #length = 0;

  constructor(head: number, tail: number) {
    this.#head = new Bytes(head);
    this.#tail = new Bytes(2 * tail);
    this.#kept = tail;
  }

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

  known(): { body: Buffer | string; size?: string } {
    const tail = this.#tail.view();
    const beyond = this.#length - this.#head.length;
    if (tail.length >= beyond) return { body: Buffer.concat([this.head, tail.subarray(tail.length - beyond)]) };
    // Starts the tail at a character boundary, because the redactor misses a secret after a broken character.
    const whole = tail.subarray(tail.findIndex((byte) => (byte & 0xc0) !== 0x80));
    return { body: `${this.head.toString()}…${whole.toString()}`, size: `${this.#length} bytes` };
  }
}

const MIB = 1024 * 1024;
/** Fits a list of 100 items with configs of 150 KiB each. */
const LARGEST_BODY = 16 * MIB;

export class BodyReader {
  #turn: Promise<unknown> = Promise.resolve();
  #unpacking: Promise<unknown> = Promise.resolve();

  /** Renews `patience` with each chunk. Throws BodyTooLarge above 16 MiB. */
  async read(body: Readable, patience: Patience): Promise<Buffer> {
    const bytes = new Bytes(LARGEST_BODY);
    const over = Promise.withResolvers<void>();
    let large = false;
    try {
      for await (const piece of body) {
        // Reads bodies above 1 MiB one at a time, to bound memory.
        if (!large && bytes.length + (piece as Buffer).length > MIB) {
          large = true;
          const before = this.#turn;
          this.#turn = before.then(() => over.promise);
          await patience.hold(before);
        }
        patience.renew();
        if (!bytes.append(piece as Buffer)) throw new BodyTooLarge(`a body larger than ${LARGEST_BODY / MIB} MiB`);
      }
      return bytes.view();
    } catch (error) {
      bytes.clear();
      throw error;
    } finally {
      over.resolve();
    }
  }

  unpacked(bytes: Buffer, contentEncoding: string | undefined): Promise<Buffer> {
    const mine = this.#unpacking.then(() => withoutCodings(bytes, contentEncoding));
    this.#unpacking = mine.catch(() => {});
    return mine;
  }
}

/** Decodes codings up to the first unknown one. Throws NoAnswer for an invalid body, BodyTooLarge above 16 MiB. */
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
      throw new (isLarge ? BodyTooLarge : NoAnswer)(`a body ${why}`, { cause: error });
    }
  }
  return body;
}
