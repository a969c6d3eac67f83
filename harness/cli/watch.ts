/** `--watch`: runs a check again whenever files of its target change, until Ctrl+C. */

import { existsSync, type FSWatcher, statSync, unwatchFile, watch, watchFile } from 'node:fs';
import { basename, resolve } from 'node:path';
import process from 'node:process';
import { Redactor } from '../common/redact.ts';
import { EXIT, UsageError } from '../common/usage.ts';
import { filesIn } from '../targets/identity.ts';
import { loadTargetFile } from '../targets/target-file.ts';
import { interruptSignal } from './process-end.ts';

const LOOK_MS = 100;
/** Milliseconds without a change after which a build is over. */
const SETTLED_MS = 150;

/** Exit codes above this come from a signal. */
const SIGNALLED = 128;

export interface Watched {
  command?: string;
  artifact?: string;
  target?: string;
  'watch-file'?: readonly string[];
}

/**
 * Files of a target: the ones that its command names, its artifact, its target file, and the values of --watch-file.
 *
 * @throws UsageError if there is none, or one of --watch-file is missing
 */
export function filesToWatch(args: Watched): string[] {
  const asked = (args['watch-file'] ?? []).map((path) => resolve(path));
  const missing = asked.find((path) => !existsSync(path));
  if (missing !== undefined) throw new UsageError(`--watch-file ${missing}: no such file or folder`);
  const files = [
    ...asked,
    ...(args.command === undefined ? [] : filesIn(args.command)),
    ...(args.artifact === undefined ? [] : [resolve(args.artifact)]),
    ...(args.target === undefined ? [] : filesOfTarget(args.target)),
  ];
  if (files.length === 0)
    throw new UsageError('--watch: the command line names no file of the target; name one with --watch-file FILE');
  return [...new Set(files)];
}

function filesOfTarget(path: string): string[] {
  const { file, folder } = loadTargetFile(path, process.env, new Redactor());
  const parts = [file.device, file.platform].flatMap((part) => (part?.command === undefined ? [] : [part]));
  return [resolve(path), ...parts.flatMap(({ command = '', cwd = folder }) => filesIn(command, cwd))];
}

/**
 * Runs `once`, and again after each change, including those during a run. A signal between two runs resolves with the
 * code of the last one; a signal during a run ends it as usual. After a usage error, as during a build, it reports and
 * waits.
 *
 * @param once runs the check; resolves with its exit code
 */
export async function watching(
  files: readonly string[],
  once: () => Promise<number>,
  say: (text: string) => void,
): Promise<number> {
  using changes = new Changes(files);
  const names = files.map((file) => basename(file)).join(', ');
  for (let code = await once(); ; code = await onceMore(once, say)) {
    if (code > SIGNALLED) return code;
    using interrupt = interruptSignal();
    say(`\nwatching ${names}: runs again after a change; Ctrl+C ends it with exit ${code}`);
    const changed = await changes.next(interrupt.signal);
    if (changed === undefined) return code;
    say(`changed: ${basename(changed)}\n`);
  }
}

async function onceMore(once: () => Promise<number>, say: (text: string) => void): Promise<number> {
  try {
    return await once();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    say(`muster: ${error.message}`);
    return EXIT.usage;
  }
}

class Changes implements Disposable {
  readonly #files: readonly string[];
  readonly #folders: FSWatcher[] = [];
  #changed: string | undefined;
  #tell: () => void = () => {};

  constructor(paths: readonly string[]) {
    const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    this.#files = paths.filter((path) => !isFolder(path));
    for (const path of this.#files) watchFile(path, { interval: LOOK_MS }, this.#listener(path));
    for (const path of paths.filter(isFolder))
      this.#folders.push(watch(path, { recursive: true }, (_, name) => this.#note(name ?? path)));
  }

  /** Last changed file, once changes have settled; undefined if the signal came first. */
  async next(signal: AbortSignal): Promise<string | undefined> {
    for (;;) {
      const seen = this.#changed;
      const news = await this.#news(seen === undefined ? undefined : SETTLED_MS, signal);
      if (signal.aborted) return undefined;
      if (news) continue;
      this.#changed = undefined;
      return seen;
    }
  }

  [Symbol.dispose](): void {
    for (const path of this.#files) unwatchFile(path);
    for (const folder of this.#folders) folder.close();
  }

  #listener(path: string): (now: { ino: number; mtimeMs: number; size: number }, before: unknown) => void {
    // A removed file is about to be written again.
    return ({ ino }) => {
      if (ino !== 0) this.#note(path);
    };
  }

  #note(path: string): void {
    this.#changed = path;
    this.#tell();
  }

  #news(withinMs: number | undefined, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve: end } = Promise.withResolvers<boolean>();
    const timer = withinMs === undefined ? undefined : setTimeout(end, withinMs, false);
    const stop = (): void => end(false);
    this.#tell = () => end(true);
    signal.addEventListener('abort', stop, { once: true });
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    });
  }
}
