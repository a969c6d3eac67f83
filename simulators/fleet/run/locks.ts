/** One fleet at a time for a folder of results, and for the keys of the same robots. Shards of one fleet share the folder of keys. */
import { readdirSync } from 'node:fs';
import { DirectoryInUseError, type Lock, lockDirectory } from '../../device/device-directory.ts';
import type { RunOptions, Shard } from './options.ts';
import { PreflightError } from './readiness.ts';

/** Locks the folders of a run until disposed. Throws PreflightError that names the option and the process that uses its folder. */
export function lockFolders({
  out,
  stateDir,
  scenario,
  shard,
  namePrefix = 'robot',
}: Pick<RunOptions, 'out' | 'stateDir' | 'scenario' | 'shard' | 'namePrefix'>): Disposable {
  const results = locked('out', out, () => lockDirectory(out));
  let keys: Lock | undefined;
  try {
    const own = shard ?? { index: 1, count: 1 };
    // Robots without an uplink have no keys.
    if (scenario.uplink !== 'none') keys = locked('state', stateDir, () => lockKeys(stateDir, namePrefix, own));
  } catch (error) {
    results.release();
    throw error;
  }
  return {
    [Symbol.dispose]: () => {
      keys?.release();
      results.release();
    },
  };
}

/** Robots are told apart by prefix and index, and shards of the same number have different robots. */
function lockKeys(dir: string, prefix: string, { index, count }: Shard): Lock {
  const nameOf = (of: Shard): string => `lock-${prefix}-${of.index}-of-${of.count}`;
  const own = lockDirectory(dir, nameOf({ index, count }));
  try {
    for (const name of readdirSync(dir)) {
      const [, prefixThere, other] = /^lock-(.+)-\d+-of-(\d+)$/.exec(name) ?? [];
      // To take another's lock shows that its owner is dead.
      if (prefixThere === prefix && Number(other) !== count) lockDirectory(dir, name).release();
    }
  } catch (error) {
    own.release();
    throw error;
  }
  return own;
}

function locked(option: string, folder: string, lock: () => Lock): Lock {
  try {
    return lock();
  } catch (error) {
    if (error instanceof DirectoryInUseError) {
      throw new PreflightError(
        `--${option}: ${folder} is in use by another fleet (process ${error.pid}); accepted: a folder of its own for each`,
      );
    }
    const { code, message } = error as NodeJS.ErrnoException;
    throw new PreflightError(
      `--${option}: cannot write to ${folder} (${code ?? message}); accepted: a writable folder`,
    );
  }
}
