/** Runs the user's tests once against a server. */

import { setTimeout as delay } from 'node:timers/promises';
import { readableDuration } from '../common/durations.ts';
import { ProcessGroup } from '../targets/launch/process.ts';
import type { Server } from './subject.ts';

/** Milliseconds between SIGTERM and SIGKILL for the tests. */
const GRACE_MS = 2000;
const KEPT_CHARACTERS = 8000;
const LAST_LINES = 30;

export interface TestCommand {
  readonly setup?: string | undefined;
  readonly line: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Maximum number of milliseconds for `setup` and `line` together. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface Ended {
  readonly outcome: 'passed' | 'failed' | 'timed_out';
  readonly how: string;
  readonly durationMs: number;
  readonly wrote: string;
  /** True if a process in a session of its own still holds the output open. */
  readonly leftBehind: boolean;
}

/**
 * Runs the tests and ends all their processes, except processes in a new session. Rejects with the reason of the
 * signal.
 */
export async function runTests(server: Server, { setup, line, env, timeoutMs, signal }: TestCommand): Promise<Ended> {
  const started = performance.now();
  const lines =
    setup === undefined
      ? [['', line]]
      : [
          ['failed in --setup, which ', setup],
          ['', line],
        ];
  let leftBehind = false;
  for (const [where = '', text = ''] of lines) {
    const left = timeoutMs - (performance.now() - started);
    const ended = await runLine(text, { ...env, ...server.env }, left, signal);
    signal.throwIfAborted();
    const durationMs = performance.now() - started;
    leftBehind ||= ended.leftBehind;
    const over = ended.how === undefined;
    const were = where === '' ? 'were' : 'was';
    const how = over ? `${were} not over within ${readableDuration(timeoutMs)}` : (ended.how ?? '');
    const end = { how: where + how, durationMs, wrote: ended.wrote, leftBehind };
    if (over || ended.code !== 0) return { ...end, outcome: over ? 'timed_out' : 'failed' };
    if (where === '') return { ...end, outcome: 'passed' };
  }
  throw new Error('no tests to run');
}

/** Runs one line in a shell; `how` is undefined if the line exceeds the time limit. */
async function runLine(
  line: string,
  env: Readonly<Record<string, string | undefined>>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<{ how: string | undefined; code: number | undefined; wrote: string; leftBehind: boolean }> {
  const group = new ProcessGroup(line, env, { graceMs: GRACE_MS, keptCharacters: KEPT_CHARACTERS });
  const bell = new AbortController();
  const late = delay(Math.max(0, timeoutMs), undefined, { signal: AbortSignal.any([bell.signal, signal]) });
  await Promise.race([group.exited, late.catch(() => {})]);
  bell.abort();
  const { how, code } = group;
  // Ends all processes of the tests, which must not reach the next server.
  await group.stop();
  return { how, code, wrote: lastOf(group), leftBehind: group.leftBehind };
}

const lastOf = ({ stdout, stderr }: ProcessGroup): string =>
  [stdout, stderr]
    .map((text) => text.trim().split('\n').slice(-LAST_LINES).join('\n'))
    .filter((text) => text !== '')
    .join('\n');
