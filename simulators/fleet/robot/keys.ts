/** RSA keys of robots, made once and kept: a run of ten thousand robots must not begin with minutes of arithmetic each time. */
import { generateKeyPair } from 'node:crypto';
import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** Beside the library's four threads, so that none waits for the event loop. */
const AT_ONCE = Math.max(4, availableParallelism()) * 2;
const make = promisify(generateKeyPair);

/** Keys of one fleet, of one size. */
export interface KeyStore {
  dir: string;
  bits: number;
}

/** Where the key of a robot lies, whatever the fleet's size, shards or workers. */
export function keyFile({ dir }: KeyStore, robot: number): string {
  const block = String(Math.floor(robot / 1000)).padStart(4, '0');
  return join(dir, block, `${robot}.pem`);
}

/** Makes the keys that are missing. Resolves with how many were made. */
export async function ensureKeys(options: {
  keys: KeyStore;
  robots: readonly number[];
  signal: AbortSignal;
  onProgress(done: number): void;
}): Promise<number> {
  const { keys, robots, signal, onProgress } = options;
  let next = 0;
  let done = 0;
  let made = 0;
  const lane = async (): Promise<void> => {
    for (;;) {
      const robot = robots[next];
      next += 1;
      if (robot === undefined || signal.aborted) return;
      if (await ensureKey(keyFile(keys, robot), keys.bits)) made += 1;
      done += 1;
      onProgress(done);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return made;
}

async function ensureKey(file: string, bits: number): Promise<boolean> {
  try {
    await readFile(file);
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const { privateKey } = await make('rsa', { modulusLength: bits });
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const beside = `${file}.${process.pid}`;
  await writeFile(beside, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  await rename(beside, file);
  return true;
}

/** Gives a robot its key, unless it has one. */
export async function installKey(file: string, identityFile: string): Promise<void> {
  await mkdir(dirname(identityFile), { recursive: true, mode: 0o700 });
  try {
    await copyFile(file, identityFile, 1 /* COPYFILE_EXCL */);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
