/** Waiting until a started target serves. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessGroup } from './process-group.ts';

const POLL_MS = 25;

/** What a target may say on stdout once it serves: `{"ready":true,"socket"|"discovery"|"url"|"control":…}`. */
export interface ReadyLine {
  socket?: string;
  discovery?: string;
  url?: string;
  control?: string;
}

/** The started target cannot be used; says why, with its last words. */
export class StartFailed extends Error {
  override name = 'StartFailed';
}

export function readyLine(stdout: string): ReadyLine | undefined {
  for (const line of stdout.split('\n').slice(0, -1)) {
    const value = parse(line);
    if (value?.['ready'] !== true) continue;
    const text = (name: string): string | undefined => {
      const field = value[name];
      return typeof field === 'string' ? field : typeof field === 'number' ? String(field) : undefined;
    };
    const ready: ReadyLine = {};
    for (const name of ['socket', 'discovery', 'url', 'control'] as const) {
      const field = text(name);
      if (field !== undefined) ready[name] = field;
    }
    return ready;
  }
  return undefined;
}

/** Polls `probe` until it yields something. Throws StartFailed when the process ends first, or takes too long. */
export async function waitFor<T>(
  what: string,
  group: ProcessGroup,
  probe: () => Promise<T | undefined> | T | undefined,
  options: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<T> {
  const deadline = performance.now() + options.timeoutMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    options.signal?.throwIfAborted();
    if (!group.running) throw new StartFailed(`\`${group.line}\` ${group.how} before ${what}${lastWords(group)}`);
    if (performance.now() > deadline) {
      throw new StartFailed(
        `\`${group.line}\` runs, but it did not come to this within ${options.timeoutMs / 1000} s: ${what}${lastWords(group)}`,
      );
    }
    await sleep(POLL_MS);
  }
}

export function lastWords(group: ProcessGroup): string {
  const words = (group.stderr.trim() || group.stdout.trim()).split('\n').slice(-15).join('\n');
  return words === '' ? '; it wrote nothing' : `; its last words:\n${words}`;
}

function parse(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
