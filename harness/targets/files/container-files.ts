/**
 * The files of an agent in a container, by their paths in it: on this machine where a mounted folder holds them, otherwise by
 * Docker's archive API, which needs no program in the container and works while it is stopped.
 */
import { lstatSync, readlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { hostFiles } from './host-files.ts';
import { readTar, type TarEntry, tarOf } from './tar.ts';
import {
  type FileEntry,
  type FileInfo,
  FilesUnreadable,
  isAbsent,
  isForbidden,
  type TargetFiles,
} from './target-files.ts';

/** A folder of this machine that the container has as `target`. */
export interface Mount {
  source: string;
  target: string;
}

/** The calls of Docker that are needed, as dockerode has them; `path` is one in the container. */
export interface ArchiveApi {
  infoArchive(options: {
    path: string;
  }): Promise<Readable & { headers: { [name: string]: string | string[] | undefined } }>;
  getArchive(options: { path: string }): Promise<NodeJS.ReadableStream>;
  putArchive(archive: Buffer, options: { path: string }): Promise<unknown>;
}

/** Far more than any log that is bounded; the content is held in memory. */
const MOST_BYTES = 268_435_456;
const MOST_LINKS = 40;

/** Files of a container with these mounts. */
export class ContainerFiles implements TargetFiles {
  readonly #mounts: readonly Mount[];
  readonly #docker: ArchiveApi;

  constructor(mounts: readonly Mount[], docker: ArchiveApi) {
    this.#mounts = mounts;
    this.#docker = docker;
  }

  stat(path: string): Promise<FileInfo | undefined> {
    return this.#either(
      path,
      (here) => hostFiles.stat(here),
      () => this.#statInside(path),
    );
  }

  read(path: string): Promise<Buffer | undefined> {
    return this.#either(
      path,
      (here) => hostFiles.read(here),
      async () => (await this.#fileInside(path))?.content,
    );
  }

  list(folder: string, { deep = false } = {}): Promise<FileEntry[]> {
    const onHost = async (here: string): Promise<FileEntry[]> =>
      (await hostFiles.list(here, { deep })).map((entry) => ({
        ...entry,
        path: join(folder, entry.path.slice(here.length)),
      }));
    return this.#either(folder, onHost, () => this.#listInside(folder, deep));
  }

  append(path: string, bytes: Buffer): Promise<void> {
    return this.#either(
      path,
      (here) => hostFiles.append(here, bytes),
      async () => {
        const file = await this.#fileInside(path);
        if (file?.content === undefined)
          throw new FilesUnreadable(`there is no file ${path} in the container to write to`);
        const archive = tarOf({ ...file, name: basename(file.path) }, Buffer.concat([file.content, bytes]));
        await this.#asked(path, () => this.#docker.putArchive(archive, { path: dirname(file.path) }));
      },
    );
  }

  /** On this machine when the path leads below a mounted folder and this user may go there, otherwise inside. */
  async #either<T>(path: string, onHost: (here: string) => Promise<T>, inside: () => Promise<T>): Promise<T> {
    const here = this.#onHost(path);
    if (here === undefined) return inside();
    try {
      return await onHost(here);
    } catch (error) {
      if (!(error instanceof FilesUnreadable) || !isForbidden(error.cause)) throw error;
      return inside();
    }
  }

  /**
   * Where a path of the container lies on this machine; undefined when it lies in no mounted folder. Links are resolved here, step by
   * step, because an absolute one leads to another place in the container than on this machine.
   */
  #onHost(path: string): string | undefined {
    let rest = partsOf(path);
    let at = '/';
    for (let links = 0; rest.length > 0; ) {
      const [name = '', ...after] = rest;
      const next = join(at, name);
      const link = name === '..' ? undefined : this.#linkAt(next);
      if (link !== undefined && links < MOST_LINKS) {
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

  async #statInside(path: string): Promise<FileInfo | undefined> {
    const found = await this.#lookInside(path);
    return found === undefined ? undefined : { kind: found.kind, size: found.size };
  }

  /** What is at the path, with the path that a link there leads to. */
  async #lookInside(path: string): Promise<(FileInfo & { path: string }) | undefined> {
    const said = await this.#absentOr(path, () => this.#docker.infoArchive({ path }));
    if (said === undefined) return undefined;
    said.destroy();
    const header = said.headers['x-docker-container-path-stat'];
    const { size, mode, linkTarget } = JSON.parse(Buffer.from(String(header), 'base64').toString('utf8')) as PathStat;
    if (mode & LINK) return linkTarget === '' || linkTarget === path ? undefined : this.#lookInside(linkTarget);
    return { path, size, kind: mode & FOLDER ? 'folder' : mode & NO_FILE ? 'other' : 'file' };
  }

  async #fileInside(path: string): Promise<(TarEntry & { path: string }) | undefined> {
    const found = await this.#lookInside(path);
    if (found?.kind !== 'file') return undefined;
    if (found.size > MOST_BYTES)
      throw new FilesUnreadable(`${path} in the container has ${found.size} bytes, too many to copy`);
    for await (const entry of this.#archive(found.path, () => true)) return { ...entry, path: found.path };
    return undefined;
  }

  async #listInside(folder: string, deep: boolean): Promise<FileEntry[]> {
    const found = await this.#lookInside(folder);
    if (found?.kind !== 'folder') return [];
    const listed: Pick<TarEntry, 'name' | 'kind' | 'size'>[] = [];
    for await (const { name, kind, size } of this.#archive(found.path, () => false)) listed.push({ name, kind, size });
    const entries: FileEntry[] = [];
    // Not before the archive has ended: Docker answers no other question about a container that it is still sending.
    for (const { name, kind, size } of listed) {
      // The archive's names begin with that of the folder.
      const [, ...below] = partsOf(name);
      if (below.length === 0 || (!deep && below.length > 1)) continue;
      const path = join(folder, ...below);
      const seen = kind === 'link' ? await this.#statInside(path) : { kind, size };
      if (seen !== undefined) entries.push({ path, ...seen });
    }
    return entries;
  }

  async *#archive(path: string, wanted: () => boolean): AsyncGenerator<TarEntry> {
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

  async #absentOr<T>(path: string, call: () => Promise<T>): Promise<T | undefined> {
    return this.#asked(path, () =>
      call().catch((error: unknown) => {
        if ((error as { statusCode?: unknown }).statusCode === 404) return undefined;
        throw error;
      }),
    );
  }

  #asked<T>(path: string, call: () => Promise<T>): Promise<T> {
    return call().catch((error: unknown) => {
      throw unreadable(path, error);
    });
  }
}

/** As Docker says what is at a path; `mode` has the bits of Go's FileMode. */
interface PathStat {
  size: number;
  mode: number;
  linkTarget: string;
}
const FOLDER = 2 ** 31;
const LINK = 2 ** 27;
/** Pipe, socket, device. */
const NO_FILE = (2 ** 25) | (2 ** 24) | (2 ** 26) | (2 ** 21);

const partsOf = (path: string): string[] => path.split('/').filter((part) => part !== '' && part !== '.');

const unreadable = (path: string, error: unknown): FilesUnreadable =>
  new FilesUnreadable(
    `${path} in the container cannot be read (${error instanceof Error ? error.message.trim() : error})`,
    {
      cause: error,
    },
  );
