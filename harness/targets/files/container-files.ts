/** Accesses files of a container in its mounts, or by Docker's archive API, which also serves stopped containers. */
import { lstatSync, readlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import {
  type FileEntry,
  type FileInfo,
  FilesUnreadable,
  hostFiles,
  isAbsent,
  isForbidden,
  type TargetFiles,
} from './target-files.ts';

const BLOCK_BYTES = 512;

export interface TarEntry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly size: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly content: Buffer | undefined;
}

/** Yields content only if `wanted`. Throws Error for an invalid archive. */
export async function* readTar(archive: Readable, wanted: boolean): AsyncGenerator<TarEntry> {
  const input = new ByteReader(archive);
  let extended: { path?: string; size?: number } = {};
  for (;;) {
    const header = await input.take(BLOCK_BYTES);
    if (header.every((byte) => byte === 0)) return;
    if (checksumOf(header) !== numberIn(header, 148, 8)) throw new Error('not a tar archive');
    const type = String.fromCharCode(header[156] ?? 0);
    const size = extended.size ?? numberIn(header, 124, 12);
    if (type === 'x' || type === 'L') {
      const text = (await input.content(size)).toString('utf8');
      extended = type === 'x' ? { ...extended, ...paxOf(text) } : { ...extended, path: text.replace(/\0.*$/s, '') };
      continue;
    }
    if (type === 'g' || type === 'K') {
      await input.skip(size + padding(size));
      continue;
    }
    const name = (extended.path ?? nameIn(header)).replace(/\/+$/, '');
    extended = {};
    const kind = KINDS[type] ?? 'other';
    const kept = kind === 'file' && wanted;
    const content = kept ? await input.content(size) : undefined;
    if (!kept) await input.skip(size + padding(size));
    const [mode, uid, gid] = [numberIn(header, 100, 8), numberIn(header, 108, 8), numberIn(header, 116, 8)];
    yield { name, kind, size, mode, uid, gid, content };
  }
}

const KINDS: { readonly [type: string]: TarEntry['kind'] } = { '0': 'file', '\0': 'file', '5': 'folder', '2': 'link' };

export function tarOf({ name, mode, uid, gid }: Pick<TarEntry, 'name' | 'mode' | 'uid' | 'gid'>, content: Buffer) {
  if (Buffer.byteLength(name) > 100) throw new RangeError(`${name}: longer than 100 bytes`);
  const header = Buffer.alloc(BLOCK_BYTES);
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
  return Buffer.concat([header, content, Buffer.alloc(padding(content.length) + 2 * BLOCK_BYTES)]);
}

const padding = (size: number): number => (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;

function checksumOf(header: Buffer): number {
  let sum = 0;
  for (let at = 0; at < BLOCK_BYTES; at += 1) sum += at >= 148 && at < 156 ? 32 : (header[at] ?? 0);
  return sum;
}

/** Octal digits, or a big-endian integer if the first bit is set. */
function numberIn(header: Buffer, at: number, length: number): number {
  const field = header.subarray(at, at + length);
  if ((field[0] ?? 0) < 128) return Number.parseInt(field.toString('latin1').replace(/\0.*$/s, '').trim() || '0', 8);
  return field.subarray(1).reduce((value, byte) => value * 256 + byte, 0);
}

function nameIn(header: Buffer): string {
  const text = (at: number, length: number): string => header.toString('utf8', at, at + length).replace(/\0.*$/s, '');
  const prefix = text(257, 5) === 'ustar' && text(263, 2) === '00' ? text(345, 155) : '';
  return prefix === '' ? text(0, 100) : `${prefix}/${text(0, 100)}`;
}

function paxOf(text: string): { path?: string; size?: number } {
  const found: { path?: string; size?: number } = {};
  for (const [, key, value = ''] of text.matchAll(/^\d+ ([^=\n]+)=(.*)$/gm)) {
    if (key === 'path') found.path = value;
    if (key === 'size') found.size = Number(value);
  }
  return found;
}

class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(stream: Readable) {
    this.#chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async take(length: number): Promise<Buffer> {
    return Buffer.concat(await Array.fromAsync(this.#parts(length)));
  }

  async content(size: number): Promise<Buffer> {
    const bytes = await this.take(size);
    await this.skip(padding(size));
    return bytes;
  }

  async skip(length: number): Promise<void> {
    for await (const _ of this.#parts(length)) {
      // Discards the bytes.
    }
  }

  async *#parts(length: number): AsyncGenerator<Buffer> {
    for (let missing = length; missing > 0; ) {
      if (this.#held.length === 0) {
        const { done, value } = await this.#chunks.next();
        if (done === true) throw new Error('the archive ends in the middle');
        this.#held = value;
      }
      const part = this.#held.subarray(0, missing);
      this.#held = this.#held.subarray(part.length);
      missing -= part.length;
      yield part;
    }
  }
}

export interface Mount {
  source: string;
  target: string;
}

export interface ArchiveApi {
  infoArchive(options: {
    path: string;
  }): Promise<Readable & { headers: { [name: string]: string | string[] | undefined } }>;
  getArchive(options: { path: string }): Promise<NodeJS.ReadableStream>;
  putArchive(archive: Buffer, options: { path: string }): Promise<unknown>;
}

export class ContainerFiles implements TargetFiles {
  readonly #mounts: readonly Mount[];
  readonly #docker: ArchiveApi;
  readonly #inside: TargetFiles = {
    stat: async (path) => {
      const found = await this.#look(path);
      return found === undefined ? undefined : { kind: found.kind, size: found.size };
    },
    read: async (path) => (await this.#file(path))?.content,
    readPart: async (path, from, bytes) => (await this.#file(path))?.content?.subarray(from, from + bytes),
    list: (folder, { deep = false } = {}) => this.#list(folder, deep),
    append: async (path, bytes) => {
      const file = await this.#file(path);
      if (file?.content === undefined)
        throw new FilesUnreadable(`there is no file ${path} in the container to write to`);
      const archive = tarOf({ ...file, name: basename(file.path) }, Buffer.concat([file.content, bytes]));
      await this.#docker.putArchive(archive, { path: dirname(file.path) }).catch((error: unknown) => {
        throw unreadable(path, error);
      });
    },
  };

  readonly stat = (path: string) => this.#either(path, (files, at) => files.stat(at));
  readonly read = (path: string) => this.#either(path, (files, at) => files.read(at));
  readonly readPart = (path: string, from: number, bytes: number) =>
    this.#either(path, (files, at) => files.readPart(at, from, bytes));
  readonly list = (folder: string, options?: { deep?: boolean }): Promise<FileEntry[]> =>
    this.#either(folder, async (files, at) => {
      const entries = await files.list(at, options);
      if (files !== hostFiles) return entries;
      return entries.map((entry) => ({ ...entry, path: join(folder, entry.path.slice(at.length)) }));
    });
  readonly append = (path: string, bytes: Buffer) => this.#either(path, (files, at) => files.append(at, bytes));

  constructor(mounts: readonly Mount[], docker: ArchiveApi) {
    this.#mounts = mounts;
    this.#docker = docker;
  }

  async #either<T>(path: string, ask: (files: TargetFiles, at: string) => Promise<T>): Promise<T> {
    const here = this.#onHost(path);
    if (here === undefined) return ask(this.#inside, path);
    try {
      return await ask(hostFiles, here);
    } catch (error) {
      if (!(error instanceof FilesUnreadable) || !isForbidden(error.cause)) throw error;
      return ask(this.#inside, path);
    }
  }

  /**
   * Resolves links step by step, because an absolute link starts at the container's root. Undefined outside mounted
   * folders.
   */
  #onHost(path: string): string | undefined {
    let rest = partsOf(path);
    let at = '/';
    for (let links = 0; rest.length > 0; ) {
      const [name = '', ...after] = rest;
      const next = join(at, name);
      const link = name === '..' ? undefined : this.#linkAt(next);
      if (link !== undefined && links < 40) {
        links += 1;
        rest = [...partsOf(link), ...after];
        if (link.startsWith('/')) at = '/';
      } else {
        at = next;
        rest = after;
      }
    }
    return this.#translated(at);
  }

  #linkAt(path: string): string | undefined {
    const here = this.#translated(path);
    if (here === undefined) return undefined;
    try {
      return lstatSync(here).isSymbolicLink() ? readlinkSync(here) : undefined;
    } catch (error) {
      if (isAbsent(error) || isForbidden(error)) return undefined;
      throw error;
    }
  }

  #translated(path: string): string | undefined {
    const mount = this.#mounts.find(({ target }) => path === target || path.startsWith(`${target}/`));
    return mount === undefined ? undefined : mount.source + path.slice(mount.target.length);
  }

  async #look(path: string): Promise<(FileInfo & { path: string }) | undefined> {
    const said = await this.#absentOr(path, () => this.#docker.infoArchive({ path }));
    if (said === undefined) return undefined;
    said.destroy();
    const stat = Buffer.from(String(said.headers['x-docker-container-path-stat']), 'base64').toString('utf8');
    const { size, mode, linkTarget }: { size: number; mode: number; linkTarget: string } = JSON.parse(stat);
    if (mode & LINK) return linkTarget === '' || linkTarget === path ? undefined : this.#look(linkTarget);
    return { path, size, kind: mode & FOLDER ? 'folder' : mode & NO_FILE ? 'other' : 'file' };
  }

  async #file(path: string): Promise<(TarEntry & { path: string }) | undefined> {
    const found = await this.#look(path);
    if (found?.kind !== 'file') return undefined;
    // Refuses files above 256 MiB, because a file is held in memory; bounded logs are far smaller.
    if (found.size > 268_435_456)
      throw new FilesUnreadable(`${path} in the container has ${found.size} bytes, too many to copy`);
    for await (const entry of this.#archive(found.path, true)) return { ...entry, path: found.path };
    return undefined;
  }

  async #list(folder: string, deep: boolean): Promise<FileEntry[]> {
    const found = await this.#look(folder);
    if (found?.kind !== 'folder') return [];
    const listed: Pick<TarEntry, 'name' | 'kind' | 'size'>[] = [];
    for await (const { name, kind, size } of this.#archive(found.path, false)) listed.push({ name, kind, size });
    const entries: FileEntry[] = [];
    // Reads the archive first, because Docker answers no other request about the container meanwhile.
    for (const { name, kind, size } of listed) {
      const [, ...below] = partsOf(name);
      if (below.length === 0 || (!deep && below.length > 1)) continue;
      const path = join(folder, ...below);
      const seen = kind === 'link' ? await this.#inside.stat(path) : { kind, size };
      if (seen !== undefined) entries.push({ path, ...seen });
    }
    return entries;
  }

  async *#archive(path: string, wanted: boolean): AsyncGenerator<TarEntry> {
    const archive = await this.#absentOr(path, () => this.#docker.getArchive({ path }));
    if (archive === undefined) return;
    try {
      yield* readTar(archive as Readable, wanted);
    } catch (error) {
      throw unreadable(path, error);
    } finally {
      (archive as Readable).destroy();
    }
  }

  #absentOr<T>(path: string, call: () => Promise<T>): Promise<T | undefined> {
    return call().catch((error: unknown) => {
      if ((error as { statusCode?: unknown }).statusCode === 404) return undefined;
      throw unreadable(path, error);
    });
  }
}

/** Bits of Go's FileMode, by which Docker tells the kind of a file. */
const FOLDER = 2 ** 31;
const LINK = 2 ** 27;
const NO_FILE = (2 ** 25) | (2 ** 24) | (2 ** 26) | (2 ** 21);

const partsOf = (path: string): string[] => path.split('/').filter((part) => part !== '' && part !== '.');

const unreadable = (path: string, error: unknown): FilesUnreadable =>
  new FilesUnreadable(
    `${path} in the container cannot be read (${error instanceof Error ? error.message.trim() : error})`,
    { cause: error },
  );
