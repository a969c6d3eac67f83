/** Starts child processes for the tools, and reads memory and processor time of processes from /proc. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo, Server } from 'node:net';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { Running } from '../../cli/testing/muster.ts';

/**
 * Runs with the compile cache that users have, because a bench includes the time to load code.
 * Ctrl-C ends the command together with the tool.
 */
export const startMuster = (words: readonly string[], env: NodeJS.ProcessEnv = {}): Running =>
  new Running(words, { env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...env }, detached: false });

/** Listens on a free port of 127.0.0.1, and resolves with the port. Default of `backlog`: as in Node. */
export async function listenAnywhere(server: Server, backlog = 511): Promise<number> {
  await once(server.listen({ port: 0, host: '127.0.0.1', backlog }), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Module that `node --import` loads into a server, to sample the server's memory. */
export const PROBE = fileURLToPath(new URL('./series.ts', import.meta.url));

export const wordsOf = (options: object): string[] =>
  Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);

// biome-ignore lint/suspicious/noExplicitAny: each has parameters of its own.
type Functions = Record<string, (...values: any[]) => unknown>;

interface Reply {
  number: number;
  value?: unknown;
  failed?: string;
}

/** Child process that runs functions of a module, which must call `serveTask` as the main module. */
export class Task<F extends Functions> implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #said = '';
  #calls = 0;

  constructor(module: string, { flags = [], env = {} }: { flags?: readonly string[]; env?: NodeJS.ProcessEnv } = {}) {
    this.#child = fork(fileURLToPath(module), {
      execArgv: [...flags],
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      // A process group, so that the end of the task also ends child processes.
      detached: true,
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-2_000);
    });
    this.#child.on('message', ({ number, value, failed }: Reply) => {
      const waiting = this.#waiting.get(number);
      this.#waiting.delete(number);
      if (failed === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(failed));
    });
    this.#ended = once(this.#child, 'exit').then(([code, signal]) => signal ?? `exit code ${code}`);
  }

  async call<K extends keyof F & string>(name: K, ...values: Parameters<F[K]>): Promise<Awaited<ReturnType<F[K]>>> {
    const waiting = Promise.withResolvers<unknown>();
    this.#calls += 1;
    this.#waiting.set(this.#calls, waiting);
    this.#child.send({ number: this.#calls, name, values }, () => {});
    const ended = this.#ended.then((how) => Promise.reject(new Error(`the task ended: ${how}: ${this.#said}`)));
    return (await Promise.race([waiting.promise, ended])) as Awaited<ReturnType<F[K]>>;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
    endGroup(this.pid);
  }
}

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

export function endGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // No process of the group is left.
  }
}

export const childrenOf = (pid: number): number[] =>
  textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);

export const treeOf = (pid: number): number[] => [pid, ...childrenOf(pid)];

/** Memory with a proportional share of shared memory (PSS). */
export const pssBytes = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + (memoryOf(textOf(`/proc/${pid}/smaps_rollup`), 'Pss') ?? 0), 0);

/** Peak of resident memory (RSS) in bytes, summed over the processes; shared pages count in each process. */
export async function peakUntilEnd({ child, ended }: Running): Promise<number> {
  let peak = 0;
  const timer = setInterval(() => {
    const peaks = treeOf(child.pid ?? 0).map((pid) => memoryOf(textOf(`/proc/${pid}/status`), 'VmHWM') ?? 0);
    peak = Math.max(
      peak,
      peaks.reduce((sum, bytes) => sum + bytes),
    );
  }, 100);
  await ended.finally(() => clearInterval(timer));
  return peak;
}

/** Value in bytes. `file`: text of a file in /proc, in which values are in kB. */
export function memoryOf(file: string, name: string): number | undefined {
  const [, value] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(file) ?? [];
  return value === undefined ? undefined : Number(value) * 1024;
}

export const cpuSeconds = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + secondsAt(pid, OWN), 0);

export const cpuSecondsOfEnded = (): number => secondsAt('self', OF_CHILDREN);

/** Processor seconds of the children that end while `run` runs. */
export async function untilEnd(run: () => Promise<unknown>): Promise<number> {
  const before = cpuSecondsOfEnded();
  await run();
  return cpuSecondsOfEnded() - before;
}

/** Index of the user time after the name in /proc/PID/stat; the system time follows. */
const OWN = 11;
const OF_CHILDREN = 13;

function secondsAt(pid: number | 'self', first: number): number {
  const stat = textOf(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // Times in /proc are in ticks of 10 ms.
  return (Number(fields[first] ?? 0) + Number(fields[first + 1] ?? 0)) / 100;
}

export function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
