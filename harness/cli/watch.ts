/** `--watch`: runs a check again whenever files of its target change, until Ctrl+C. */

import { existsSync, type FSWatcher, statSync, unwatchFile, watch, watchFile } from 'node:fs';
import { basename, resolve } from 'node:path';
import process from 'node:process';
import { Redactor } from '../common/redact.ts';
import { EXIT, UsageError } from '../common/usage.ts';
import { poll } from '../common/waiting.ts';
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
  readonly #folders: FSWatcher[];
  #last: { path: string; at: number } | undefined;

  constructor(paths: readonly string[]) {
    const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    const note = (path: string): void => {
      this.#last = { path, at: performance.now() };
    };
    this.#files = paths.filter((path) => !isFolder(path));
    for (const path of this.#files)
      watchFile(path, { interval: LOOK_MS }, ({ ino }) => {
        // A removed file is about to be written again.
        if (ino !== 0) note(path);
      });
    this.#folders = paths
      .filter(isFolder)
      .map((path) => watch(path, { recursive: true }, (_, name) => note(name ?? path)));
  }

  /** Last changed file, once changes have settled; undefined if the signal came first. */
  async next(signal: AbortSignal): Promise<string | undefined> {
    const settled = (): string | undefined => {
      if (this.#last === undefined || performance.now() - this.#last.at < SETTLED_MS) return undefined;
      const { path } = this.#last;
      this.#last = undefined;
      return path;
    };
    const waiting = { timeoutMs: Number.POSITIVE_INFINITY, firstPauseMs: LOOK_MS / 2, signal };
    return await poll('a change', settled, waiting).catch(() => undefined);
  }

  [Symbol.dispose](): void {
    for (const path of this.#files) unwatchFile(path);
    for (const folder of this.#folders) folder.close();
  }
}
