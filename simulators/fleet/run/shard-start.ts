/** How the shards of a run begin: each claims its folder, makes its keys, and waits for the others, so that all begin at once. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PollTimeout, poll } from '../../../harness/common/waiting.ts';
import {
  ALIVE_FILE,
  type Alive,
  FAILED_FILE,
  RESULT_FILE,
  readResult,
  STARTING,
  shardFolder,
  silenceOf,
} from '../result/shards.ts';
import type { RunIdentity, Shard } from './options.ts';
import { PreflightError } from './readiness.ts';

/** Between two looks at the folders of the others: the most by which starts differ, beside what a shared disk adds. */
const LOOK_MS = 250;
/** A shard without a sign of life for this time is waited for no longer; `muster merge` says that it is dead. */
const SILENT_MS = 30_000;

/** Other shards did not come up in time. The message names them. */
export class StartTimeout extends Error {
  override name = 'StartTimeout';
}

/**
 * What the result has to say of an earlier attempt of the same shard. Throws PreflightError when its result is there and it was not
 * started by the same job: two runs with one id cannot be told apart.
 */
export function claimShard(out: string, shard: Shard, { runId, jobId }: RunIdentity): string[] {
  const result = join(out, RESULT_FILE);
  if (existsSync(result) && (jobId === undefined || readResult(result).job_id !== jobId)) {
    throw new PreflightError(
      `--run-id: ${runId} has a result of shard ${shard.index}/${shard.count} already, in ${out}; accepted: an id of its own for each run`,
    );
  }
  if (![RESULT_FILE, ALIVE_FILE, FAILED_FILE].some((name) => existsSync(join(out, name)))) return [];
  return [
    `Shard ${shard.index}/${shard.count} was started again; what an earlier attempt measured is not in the result.`,
  ];
}

/**
 * Resolves when every other shard of the run is ready, has ended or is silent. Rejects with StartTimeout, and with the signal's reason.
 * `out` is the folder of this shard, beside those of the others.
 */
export async function othersReady(
  out: string,
  { index, count }: Shard,
  { startWithinMs }: RunIdentity,
  signal: AbortSignal,
): Promise<void> {
  const beats = new Map<number, { beat: number; since: number }>();
  let missing: string[] = [];
  const look = (): true | undefined => {
    missing = [];
    for (let other = 1; other <= count; other += 1) {
      if (other === index) continue;
      const folder = join(dirname(out), shardFolder({ index: other, count }));
      if (!isReady(folder, beats)) missing.push(`${other}/${count}`);
    }
    return missing.length === 0 || undefined;
  };
  try {
    await poll('the other shards', look, { timeoutMs: startWithinMs, firstPauseMs: LOOK_MS, signal });
  } catch (error) {
    if (!(error instanceof PollTimeout)) throw error;
    throw new StartTimeout(
      `shard ${missing.join(', ')} did not come up within ${startWithinMs / 1000} s; is there room for all shards at once?`,
    );
  }
}

function isReady(folder: string, beats: Map<number, { beat: number; since: number }>): boolean {
  if (existsSync(join(folder, RESULT_FILE)) || existsSync(join(folder, FAILED_FILE))) return true;
  let sign: Alive;
  try {
    sign = JSON.parse(readFileSync(join(folder, ALIVE_FILE), 'utf8')) as Alive;
  } catch {
    // It has not begun, or its file is not on this machine yet.
    return false;
  }
  return sign.phase !== STARTING || silenceOf(sign, beats) > SILENT_MS;
}
