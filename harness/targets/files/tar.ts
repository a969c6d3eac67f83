/** Tar archives as Docker's archive API speaks them: POSIX (ustar with pax headers) and the long names of GNU. */
import type { Readable } from 'node:stream';

const BLOCK = 512;

/** One member of an archive. */
export interface TarEntry {
  /** Without a slash at the end. */
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly size: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Of a file, when it was asked for. */
  readonly content: Buffer | undefined;
}

/**
 * The members of an archive, in order; never more than one content is held. `wanted` says of which files to keep the content.
 * Throws Error for what is no archive, or ends in the middle.
 */
export async function* readTar(
  archive: Readable,
  wanted: (name: string, size: number) => boolean,
): AsyncGenerator<TarEntry> {
  const input = new ByteReader(archive);
  let extended: { path?: string; size?: number } = {};
  for (;;) {
    const header = await input.take(BLOCK);
    if (header === undefined || header.every((byte) => byte === 0)) return;
    if (checksumOf(header) !== numberIn(header, 148, 8)) throw new Error('not a tar archive');
    const type = String.fromCharCode(header[156] ?? 0);
    const size = extended.size ?? numberIn(header, 124, 12);
    if (type === 'x' || type === 'L') {
      const text = (await input.content(size)).toString('utf8');
      extended = type === 'x' ? { ...extended, ...paxOf(text) } : { ...extended, path: text.replace(/\0.*$/s, '') };
      continue;
    }
    if (type === 'g' || type === 'K') {
      await input.skip(size);
      continue;
    }
    const name = (extended.path ?? nameIn(header)).replace(/\/+$/, '');
    extended = {};
    const kind = KINDS[type] ?? 'other';
    const kept = kind === 'file' && wanted(name, size);
    const content = kept ? await input.content(size) : undefined;
    if (!kept) await input.skip(size);
    const [mode, uid, gid] = [numberIn(header, 100, 8), numberIn(header, 108, 8), numberIn(header, 116, 8)];
    yield { ...{ name, kind, size }, ...{ mode, uid, gid, content } };
  }
}

const KINDS: { readonly [type: string]: TarEntry['kind'] } = { '0': 'file', '\0': 'file', '5': 'folder', '2': 'link' };

/** An archive of one file. Throws RangeError for a name of more than 100 bytes. */
export function tarOf(
  { name, mode, uid, gid }: Pick<TarEntry, 'name' | 'mode' | 'uid' | 'gid'>,
  content: Buffer,
): Buffer {
  if (Buffer.byteLength(name) > 100) throw new RangeError(`${name}: longer than 100 bytes`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(name, 0);
  header.write(octal(mode & 0o7777, 7), 100);
  header.write(octal(uid, 7), 108);
  header.write(octal(gid, 7), 116);
  header.write(octal(content.length, 11), 124);
  header.write(octal(Math.floor(Date.now() / 1000), 11), 136);
  header.write('0', 156);
  header.write('ustar\x0000', 257);
  header.write(`${checksumOf(header).toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc(padding(content.length) + 2 * BLOCK)]);
}

const padding = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK;

/** The sum of all bytes, with spaces in place of the checksum itself. */
function checksumOf(header: Buffer): number {
  let sum = 0;
  for (let at = 0; at < BLOCK; at += 1) sum += at >= 148 && at < 156 ? 32 : (header[at] ?? 0);
  return sum;
}

/** Octal digits, or with the first bit set a big-endian integer, for sizes above 8 GiB and large ids. */
function numberIn(header: Buffer, at: number, length: number): number {
  const field = header.subarray(at, at + length);
  if ((field[0] ?? 0) < 128) return Number.parseInt(field.toString('latin1').replace(/\0.*$/s, '').trim() || '0', 8);
  return field.subarray(1).reduce((value, byte) => value * 256 + byte, 0);
}

function nameIn(header: Buffer): string {
  const text = (at: number, length: number): string =>
    header
      .subarray(at, at + length)
      .toString('utf8')
      .replace(/\0.*$/s, '');
  const prefix = text(257, 5) === 'ustar' && text(263, 2) === '00' ? text(345, 155) : '';
  return prefix === '' ? text(0, 100) : `${prefix}/${text(0, 100)}`;
}

/** `LENGTH KEY=VALUE\n`, of which path and size matter here. */
function paxOf(text: string): { path?: string; size?: number } {
  const found: { path?: string; size?: number } = {};
  for (const [, key, value = ''] of text.matchAll(/^\d+ ([^=\n]+)=(.*)$/gm)) {
    if (key === 'path') found.path = value;
    if (key === 'size') found.size = Number(value);
  }
  return found;
}

/** Bytes of a stream in portions of any length. */
class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(stream: Readable) {
    this.#chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** Undefined at the end of the stream. Throws Error when it ends in the middle. */
  async take(length: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    let missing = length;
    while (missing > 0) {
      if (this.#held.length === 0 && !(await this.#more())) {
        if (missing === length) return undefined;
        throw new Error('the archive ends in the middle');
      }
      const part = this.#held.subarray(0, missing);
      this.#held = this.#held.subarray(part.length);
      missing -= part.length;
      parts.push(part);
    }
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  /** A member's content, without its padding. */
  async content(size: number): Promise<Buffer> {
    const bytes = size === 0 ? Buffer.alloc(0) : await this.take(size);
    if (bytes === undefined) throw new Error('the archive ends in the middle');
    await this.#discard(padding(size));
    return bytes;
  }

  async skip(size: number): Promise<void> {
    await this.#discard(size + padding(size));
  }

  async #discard(length: number): Promise<void> {
    for (let missing = length; missing > 0; ) {
      if (this.#held.length === 0 && !(await this.#more())) throw new Error('the archive ends in the middle');
      const part = Math.min(missing, this.#held.length);
      this.#held = this.#held.subarray(part);
      missing -= part;
    }
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done === true) return false;
    this.#held = value;
    return true;
  }
}
