/** Replaces all config files together by renaming one symbolic link, so that even a crash leaves a complete set. */
import { existsSync, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { besideName } from '../../../harness/common/user-files.ts';
import { type DiskIo, errorCode, ifPresent, opened } from '../log/io.ts';
import { type ConfigFile, DeployError } from '../ports.ts';

const SETS = 'sets';

export class ConfigFiles {
  readonly root: string;
  readonly #directory: string;
  readonly #io: DiskIo;
  readonly #durable: boolean;

  constructor(directory: string, io: DiskIo, durable: boolean) {
    this.root = `${directory}/root`;
    this.#directory = directory;
    this.#io = io;
    this.#durable = durable;
  }

  get current(): string | undefined {
    const found = lstatSync(this.root, { throwIfNoEntry: false });
    return found?.isSymbolicLink() ? readlinkSync(this.root) : undefined;
  }

  /**
   * Writes the files as a new set; resolves with its name for `swap`. Rejects with DeployError, which is retryable
   * unless a path is impossible.
   */
  async stage(files: readonly ConfigFile[]): Promise<string> {
    const paths = relativePaths(files.map(({ filepath }) => filepath));
    for (const path of paths) this.#refuseLinks(path);
    const name = `${SETS}/${this.#newest() + 1}`;
    const set = `${this.#directory}/${name}`;
    try {
      this.#io.makeDirectory(set);
      const directories = new Set([set]);
      for (const [at, { content }] of files.entries()) {
        const path = `${set}/${paths[at]}`;
        const parent = dirname(path);
        if (!directories.has(parent)) this.#io.makeDirectory(parent);
        for (let made = parent; made.length > set.length; made = dirname(made)) directories.add(made);
        using file = opened(this.#io, path, 'wx');
        this.#io.write(file.fd, content, 0);
        if (this.#durable) await this.#io.sync(file.fd);
      }
      if (this.#durable) for (const directory of directories) await this.#io.syncDirectory(directory);
    } catch (error) {
      this.#io.remove(set);
      const cause = errorCode(error) ?? String(error);
      throw new DeployError(`cannot write the config files: ${cause}`, cause !== 'ENAMETOOLONG', { cause: error });
    }
    return name;
  }

  async swap(name: string): Promise<void> {
    const beside = besideName(this.root);
    const found = lstatSync(this.root, { throwIfNoEntry: false });
    if (found?.isSymbolicLink() === false) {
      this.#io.makeDirectory(`${this.#directory}/${SETS}`);
      this.#io.rename(this.root, `${this.#directory}/${SETS}/${this.#newest() + 1}`);
    }
    this.#io.link(name, beside);
    this.#io.rename(beside, this.root);
    if (this.#durable) await this.#io.syncDirectory(this.#directory);
  }

  /** Restores the set of the stored state, because a crash may have left another set. */
  async restore(name: string | undefined): Promise<void> {
    if (this.current !== name) {
      if (name === undefined) this.#io.remove(this.root);
      else if (existsSync(`${this.#directory}/${name}`)) await this.swap(name);
    }
    this.prune();
  }

  prune(): void {
    const keep = this.current;
    for (const set of this.#sets()) if (`${SETS}/${set}` !== keep) this.#io.remove(`${this.#directory}/${SETS}/${set}`);
  }

  #refuseLinks(path: string): void {
    let at = this.root;
    for (const name of path.split('/')) {
      at += `/${name}`;
      const found = lstatSync(at, { throwIfNoEntry: false });
      if (!found) return;
      if (found.isSymbolicLink())
        throw new DeployError(`config file path ${JSON.stringify(path)} leads through a symbolic link`, false);
      if (!found.isDirectory()) return;
    }
  }

  #sets(): string[] {
    const path = `${this.#directory}/${SETS}`;
    return (ifPresent(path, () => readdirSync(path)) ?? []).filter((name) => /^\d+$/.test(name));
  }

  #newest(): number {
    return this.#sets().reduce((highest, set) => Math.max(highest, Number(set)), 0);
  }
}

const LONGEST_NAME = 255;
const LONGEST_PATH = 2_048;

/** Path relative to the root, even for an absolute `filepath`. Throws DeployError for an invalid or upward path. */
export function relativePath(filepath: string): string {
  const refuse = (why: string): never => {
    const shown = filepath.length > 120 ? `${filepath.slice(0, 120)}…` : filepath;
    throw new DeployError(`config file path ${JSON.stringify(shown)} ${why}`, false);
  };
  if (filepath.includes('\0')) refuse('contains a NUL');
  if (Buffer.byteLength(filepath) > LONGEST_PATH) refuse(`is longer than ${LONGEST_PATH} bytes`);
  const names = filepath.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) refuse("leads upwards ('..')");
  if (names.length === 0 || filepath.endsWith('/') || filepath.endsWith('/.')) refuse('names no file');
  if (names.some((name) => Buffer.byteLength(name) > LONGEST_NAME))
    refuse(`has a name longer than ${LONGEST_NAME} bytes`);
  return names.join('/');
}

export function relativePaths(filepaths: readonly string[]): string[] {
  const paths = filepaths.map(relativePath);
  const taken = new Set(paths);
  if (taken.size < paths.length) {
    const twice = paths.find((path, at) => paths.indexOf(path) !== at);
    throw new DeployError(`two config files want the path ${JSON.stringify(twice)}`, false);
  }
  for (const path of paths) {
    for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
      const parent = path.slice(0, slash);
      if (taken.has(parent))
        throw new DeployError(`${JSON.stringify(parent)} is wanted as a file and as a directory`, false);
    }
  }
  return paths;
}
