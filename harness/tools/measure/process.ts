/** Processes of the tools: shipped commands and tasks, and Linux's counts of both. */
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { Running } from '../../cli/testing/muster.ts';

/**
 * Runs `muster` as a user does, with the compile cache that it chooses, whose cost counts; ended by Ctrl-C as the tool
 * is.
 */
export const startMuster = (words: readonly string[], env: NodeJS.ProcessEnv = {}): Running =>
  new Running(words, { env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...env }, detached: false });

/** Module for `node --import` in a server. */
export const PROBE = fileURLToPath(new URL('./series.ts', import.meta.url));

export const wordsOf = (options: object): string[] =>
  Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);

/** End of a task's process before its answer. */
export class TaskEnded extends Error {
  override name = 'TaskEnded';
}

/** Functions that another process runs, by name. */
// biome-ignore lint/suspicious/noExplicitAny: each has parameters of its own.
type Functions = Record<string, (...values: any[]) => unknown>;

interface TaskOptions {
  flags?: readonly string[];
  env?: NodeJS.ProcessEnv;
  /** Receives notes of a task at work. */
  // biome-ignore lint/suspicious/noExplicitAny: the module knows what it notes.
  onNote?(value: any): void;
}

interface Reply {
  number: number;
  value?: unknown;
  failed?: string;
  note?: unknown;
}

const LAST_WORDS = 2_000;

/** Process that runs functions of a module. As main module, it serves these with `serveTask`. */
export class Task<F extends Functions> implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #said = '';
  #calls = 0;

  /** `module`: its `import.meta.url`. */
  constructor(module: string, { flags = [], env = {}, onNote }: TaskOptions = {}) {
    this.#child = fork(fileURLToPath(module), {
      execArgv: [...flags],
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      // A process group of its own, to end children too.
      detached: true,
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-LAST_WORDS);
    });
    this.#child.on('message', ({ number, value, failed, note }: Reply) => {
      if (note !== undefined) onNote?.(note);
      const waiting = this.#waiting.get(number);
      this.#waiting.delete(number);
      if (failed === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(failed));
    });
    this.#ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
  }

  /** Rejects with `TaskEnded` if the process ends before the result. */
  async call<K extends keyof F & string>(name: K, ...values: Parameters<F[K]>): Promise<Awaited<ReturnType<F[K]>>> {
    const waiting = Promise.withResolvers<unknown>();
    this.#calls += 1;
    this.#waiting.set(this.#calls, waiting);
    this.#child.send({ number: this.#calls, name, values }, () => {});
    const ended = this.#ended.then((how) => Promise.reject(new TaskEnded(`${how}: ${this.#said}`)));
    return (await Promise.race([waiting.promise, ended])) as Awaited<ReturnType<F[K]>>;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Ends the process with its children. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
    endGroup(this.pid);
  }
}

/** Runs functions for the parent process, until the parent closes the channel. */
export function serveTask(functions: Functions): void {
  process.on('message', async ({ number, name, values }: { number: number; name: string; values: unknown[] }) => {
    const reply = await Promise.try(() => functions[name]?.(...values)).then(
      (value): Reply => ({ number, value }),
      (error: unknown): Reply => ({ number, failed: String(error instanceof Error ? error.stack : error) }),
    );
    process.send?.(reply);
  });
  process.on('disconnect', () => {
    process.on('exit', () => endGroup(process.pid));
    process.exit();
  });
}

/** Sends a note to the parent process before the answer. */
export const noteTask = (note: unknown): void => void process.send?.({ number: 0, note });

/** Kills the rest of a process group. */
export function endGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // The group is empty.
  }
}

export const childrenOf = (pid: number): number[] =>
  textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);

export const treeOf = (pid: number): number[] => [pid, ...childrenOf(pid)];

/** Bytes of memory, each process with its share of common pages. */
export const pssBytes = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + (memoryOf(textOf(`/proc/${pid}/smaps_rollup`), 'Pss') ?? 0), 0);

/** Bytes by name in a file of /proc; undefined if missing. */
export function memoryOf(file: string, name: string): number | undefined {
  const [, value] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(file) ?? [];
  return value === undefined ? undefined : Number(value) * 1024;
}

export const cpuSeconds = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + secondsAt(pid, OWN), 0);

/** Processor seconds of ended children and their own children. */
export const cpuSecondsOfEnded = (): number => secondsAt('self', OF_CHILDREN);

/** Ticks a second of times in /proc. */
const TICKS = 100;
/** Fields after the name: user time, which system time follows; then those of ended children. */
const OWN = 11;
const OF_CHILDREN = 13;

function secondsAt(pid: number | 'self', first: number): number {
  const stat = textOf(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[first] ?? 0) + Number(fields[first + 1] ?? 0)) / TICKS;
}

/** Empty if the process has ended. */
export function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
