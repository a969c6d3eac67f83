/** Runs the command as a user does, in a process of its own. For tests. */

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { defined } from '../../common/defined.ts';

const CLI = fileURLToPath(new URL('../main.ts', import.meta.url));
/** Types are stripped once for all of these processes. */
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/muster', import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** A command that runs the rest of its words, such as `ip netns exec NAME`. */
  under?: readonly string[];
  /** A process group of its own, by default, so that it can be killed as one with whatever it started. */
  detached?: boolean;
}

export class Running implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';
  readonly #waiters = new Set<() => void>();

  constructor(words: readonly string[], { under = [], env, cwd, detached = true }: RunOptions = {}) {
    const [program = '', ...rest] = [...under, process.execPath, CLI, ...words];
    this.child = spawn(program, rest, {
      detached,
      env: { ...process.env, NO_COLOR: '1', NODE_COMPILE_CACHE: CACHE, ...env },
      ...defined({ cwd }),
    });
    for (const name of ['stdout', 'stderr'] as const) {
      this.child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this[name] += text;
        this.#wake();
      });
    }
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code) => {
        resolve({ code, stdout: this.stdout, stderr: this.stderr });
        this.#wake();
      });
    });
  }

  /** Resolves with the first line of stdout that fits; rejects when the process ends without one. */
  line(fits: (line: string) => boolean): Promise<string> {
    return this.#until(() => this.stdout.split('\n').slice(0, -1).find(fits));
  }

  /** Resolves when stderr holds what fits. */
  said(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#until(() => pattern.exec(this.stderr) ?? undefined);
  }

  /** The one JSON line that says ready. */
  async ready<T = Record<string, unknown>>(): Promise<T> {
    return JSON.parse(await this.line((line) => line.includes('"ready":true'))) as T;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGTERM');
    await this.ended;
  }

  #wake(): void {
    for (const waiter of this.#waiters) waiter();
  }

  async #until<T>(find: () => T | undefined): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`ended before it came; stderr: ${this.stderr}`);
      }
      await new Promise<void>((resolve) => {
        const waiter = (): void => {
          this.#waiters.delete(waiter);
          resolve();
        };
        this.#waiters.add(waiter);
      });
    }
  }
}

export const muster = (...words: string[]): Promise<Ended> => new Running(words).ended;
