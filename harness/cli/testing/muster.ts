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

export class Running implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  #stdout = '';
  #stderr = '';
  readonly #waiters = new Set<() => void>();

  /**
   * `under`: a command that runs the rest of its words, such as `ip netns exec NAME`. `detached`: a process group of its own, by default,
   * so that it can be killed as one with whatever it started.
   */
  constructor(
    words: readonly string[],
    options: { env?: NodeJS.ProcessEnv; cwd?: string; under?: readonly string[]; detached?: boolean } = {},
  ) {
    const [program = '', ...rest] = [...(options.under ?? []), process.execPath, CLI, ...words];
    this.child = spawn(program, rest, {
      detached: options.detached ?? true,
      env: { ...process.env, NO_COLOR: '1', NODE_COMPILE_CACHE: CACHE, ...options.env },
      ...defined({ cwd: options.cwd }),
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
      for (const waiter of this.#waiters) waiter();
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
      for (const waiter of this.#waiters) waiter();
    });
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code) => {
        resolve({ code, stdout: this.#stdout, stderr: this.#stderr });
        for (const waiter of this.#waiters) waiter();
      });
    });
  }

  /** What it has written there so far. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Resolves with the first line of stdout that fits; rejects when the process ends without one. */
  line(fits: (line: string) => boolean): Promise<string> {
    return this.#until(() => this.#stdout.split('\n').slice(0, -1).find(fits));
  }

  /** Resolves when stderr holds what fits. */
  said(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#until(() => pattern.exec(this.#stderr) ?? undefined);
  }

  async #until<T>(find: () => T | undefined): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`ended before it came; stderr: ${this.#stderr}`);
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

  /** The one JSON line that says ready. */
  async ready(): Promise<Record<string, unknown>> {
    return JSON.parse(await this.line((line) => line.includes('"ready":true'))) as Record<string, unknown>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGTERM');
    await this.ended;
  }
}

export const muster = (...words: string[]): Promise<Ended> => new Running(words).ended;
