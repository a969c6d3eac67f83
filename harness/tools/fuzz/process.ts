/** One fuzzer in a process of its own, which may hang or die of what it finds. */
import { fork } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { type Find, keep } from './finds.ts';

/** What to run. */
export interface FuzzOptions {
  name: string;
  seed: number;
  ms: number;
  /** Folder for the finds. */
  out: string;
}

/** What came of it. */
export interface FuzzResult {
  name: string;
  tried: number;
  again: number;
  finds: (Find & { file: string })[];
}

/** From the worker. */
export type WorkerMessage = { tried: number; again: number } | { find: { wrong: string; input: unknown } };

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url));
/** Longer than any attack may take; only what blocks the process is left to this. */
const SILENCE_MS = 240_000;
const LAST_WORDS = 2_000;

/** Resolves when the process has ended: by itself, by what it found, or because it said nothing for too long. */
export async function runFuzzer({ name, seed, ms, out }: FuzzOptions): Promise<FuzzResult> {
  using folder = scratch();
  const current = join(folder.path, 'current.json');
  mkdirSync(join(folder.path, 'tmp'));
  const child = fork(WORKER, [name, String(seed), String(ms), current], {
    // A worker that dies leaves the folders of its subjects.
    env: { ...process.env, TMPDIR: join(folder.path, 'tmp') },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
  });
  const result: FuzzResult = { name, tried: 0, again: 0, finds: [] };
  const found = (wrong: string, input: unknown): void => {
    const find = { fuzzer: name, wrong, input };
    result.finds.push({ ...find, file: keep(find, out) });
  };
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-LAST_WORDS);
  });
  let hangs = false;
  const silent = setTimeout(() => {
    hangs = true;
    child.kill('SIGKILL');
  }, SILENCE_MS);
  child.on('message', (message: WorkerMessage) => {
    silent.refresh();
    if ('find' in message) found(message.find.wrong, message.find.input);
    else Object.assign(result, message);
  });
  const end = await new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  clearTimeout(silent);
  // What it had started ends with it.
  if (child.pid !== undefined) endGroup(child.pid);
  if (end !== 'exit code 0') {
    const how = hangs ? 'it blocks the process for ever' : `it ends the process with ${end}: ${errors}`;
    const input = lastInput(current);
    if (input === undefined) throw new Error(`the fuzzer ${name} did not come to its first input: ${how}`);
    found(how, input);
  }
  return result;
}

function lastInput(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing is left of it.
  }
}
