/** RSA keys of robots. They are kept from run to run, because generating ten thousand of them takes minutes. */
import { generateKeyPair } from 'node:crypto';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { replaceWith, SECRET_MODE } from '../../../harness/common/new-file.ts';
import { whyNot } from '../../../harness/common/user-files.ts';

/** Twice the threads of libuv's pool, so that no thread waits for the event loop. */
const CONCURRENCY = Math.max(4, availableParallelism()) * 2;
const generate = promisify(generateKeyPair);

/** The keys of one fleet, all of the same size. */
export interface KeyStore {
  dir: string;
  bits: number;
}

/** The key file of a robot; it does not depend on the fleet's size, shards or workers. */
export function keyFile({ dir }: KeyStore, robot: number): string {
  const block = String(Math.floor(robot / 1000)).padStart(4, '0');
  return join(dir, block, `${robot}.pem`);
}

/** Generates the keys that are missing; resolves with their number. Stops early when the signal aborts. */
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
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
  return made;
}

async function ensureKey(file: string, bits: number): Promise<boolean> {
  try {
    await readFile(file);
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const { privateKey } = await generate('rsa', { modulusLength: bits });
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  try {
    // At once: this process may end as soon as another key cannot be written, and would leave half a file.
    replaceWith(file, pem, SECRET_MODE);
  } catch (error) {
    throw new Error(`${file} cannot be written (${whyNot(error)})`, { cause: error });
  }
  return true;
}

/** Copies a robot's key into its identity folder, unless it already has one. */
export async function installKey(file: string, identityFile: string): Promise<void> {
  await mkdir(dirname(identityFile), { recursive: true, mode: 0o700 });
  try {
    await copyFile(file, identityFile, 1 /* COPYFILE_EXCL */);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
