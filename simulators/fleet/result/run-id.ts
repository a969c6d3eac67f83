/**
 * Which run the shards on a shared disk belong to. An id is given to all, or `muster merge --watch` announces one in `run.json` for as
 * long as it waits, and shards take it from there. A file that an earlier run has left does not change, so nobody takes it for a new one.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PollTimeout, poll } from '../../../harness/common/waiting.ts';
import { OutputError, writeFileIn } from './shards.ts';

const RUN_FILE = 'run.json';
const RENEW_MS = 1000;
const LOOK_MS = 250;

/** No run was announced in time. The message names the folder. */
export class NoRunError extends Error {
  override name = 'NoRunError';
}

/** Announces a run in a folder until disposed. Throws OutputError. */
export function announceRun(dir: string, runId: string): Disposable {
  let beat = 0;
  const renew = (): void => {
    beat += 1;
    writeFileIn(dir, RUN_FILE, JSON.stringify({ run_id: runId, beat }));
  };
  renew();
  const timer = setInterval(() => {
    try {
      renew();
    } catch (error) {
      // The disk may have room again at the next beat.
      if (!(error instanceof OutputError)) throw error;
    }
  }, RENEW_MS);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      rmSync(join(dir, RUN_FILE), { force: true });
    },
  };
}

/** Resolves with the id of the run that is being announced in a folder. Rejects with NoRunError, or with the reason of the signal. */
export async function announcedRun(dir: string, timeoutMs: number, signal: AbortSignal): Promise<string> {
  const file = join(dir, RUN_FILE);
  let before: string | undefined;
  const look = (): string | undefined => {
    const text = textOf(file);
    const changed = before !== undefined && text !== before;
    before = text;
    return changed && text !== '' ? runIdIn(text) : undefined;
  };
  try {
    return await poll('a run', look, { timeoutMs, firstPauseMs: LOOK_MS, signal });
  } catch (error) {
    if (!(error instanceof PollTimeout)) throw error;
    throw new NoRunError(
      `--run-id auto: nobody announced a run in ${dir} for ${timeoutMs / 1000} s; is 'muster merge ${dir} --watch --run-id …' running?`,
    );
  }
}

/** Empty where there is no file. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function runIdIn(text: string): string | undefined {
  try {
    const { run_id: runId } = JSON.parse(text) as { run_id?: unknown };
    return typeof runId === 'string' ? runId : undefined;
  } catch {
    return undefined;
  }
}
