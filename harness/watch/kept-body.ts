/** Keeps a whole body up to 4 MiB; of a larger body, keeps the beginning and a hash. */
import { isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import { CODINGS } from '../client/codings.ts';
import { Bytes } from '../common/bytes.ts';
import type { Body } from './traffic.ts';

/** Maximum number of bytes in a completely kept body, ten times a usual page of 100 items. */
const MOST_KEPT = 4 * 1024 * 1024;
const BEGINNING = 64 * 1024;

export class KeptBody {
  readonly #bytes = new Bytes(MOST_KEPT);
  #hash: Hash | undefined;
  #size = 0;

  get held(): number {
    return this.#bytes.capacity;
  }

  clear(): void {
    this.#bytes.clear();
  }

  append(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#hash !== undefined) {
      this.#hash.update(piece);
      return;
    }
    const before = this.#bytes.length;
    if (this.#bytes.append(piece)) return;
    this.#hash = createHash('sha256').update(this.#bytes.view());
    this.#hash.update(piece.subarray(this.#bytes.length - before));
    const beginning = Buffer.from(this.#bytes.view().subarray(0, BEGINNING));
    this.#bytes.clear();
    this.#bytes.append(beginning);
  }

  taken(codings = ''): Body | undefined {
    const size = this.#size;
    if (size === 0) return undefined;
    const bytes = this.#bytes.view();
    if (this.#hash !== undefined) return { ...readable(bytes.subarray(0, BEGINNING)), size, cut: this.#cut() };
    const plain = withoutCodings(bytes, codings);
    const body = plain === undefined ? { base64: bytes.subarray(0, BEGINNING).toString('base64') } : readable(plain);
    const cut = plain === undefined && size > BEGINNING ? { cut: this.#cut() } : {};
    this.#bytes.clear();
    return { ...body, size, ...cut };
  }

  #cut(): { sha256: string } {
    const hash = this.#hash ?? createHash('sha256').update(this.#bytes.view());
    const sha256 = hash.digest('hex');
    this.#bytes.clear();
    return { sha256 };
  }
}

function readable(bytes: Buffer): Pick<Body, 'text' | 'base64'> {
  const text = bytes.toString('utf8');
  // Accepts text that is cut within its last character; refuses UTF-16, which is full of NULs.
  const isText = !text.includes('\0') && (isUtf8(bytes) || !text.slice(0, -1).includes('\ufffd'));
  return isText ? { text } : { base64: bytes.toString('base64') };
}

function withoutCodings(bytes: Buffer, codings: string): Buffer | undefined {
  let body = bytes;
  for (const coding of codings.split(',').toReversed()) {
    const name = coding.trim().toLowerCase();
    if (name === '' || name === 'identity') continue;
    try {
      body = CODINGS.get(name)?.unpackSync(body, { maxOutputLength: MOST_KEPT }) ?? unknown(name);
    } catch {
      return undefined;
    }
  }
  return body;
}

const unknown = (coding: string): never => {
  throw new Error(`the coding ${coding} is not known`);
};
