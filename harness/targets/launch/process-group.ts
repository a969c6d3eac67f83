/** A command in a process group of its own, so that it is ended with everything it started. */

import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { defined } from '../../common/defined.ts';
import { pollWithin } from '../../common/waiting.ts';
import type { StopSignal } from '../../contract/control.ts';
import { ReadyLine } from './ready-line.ts';
import { OutputTail } from './started.ts';

const GRACE_MS = 10_000;
const POLL_MS = 20;
/** How long the pipes of a dead group may stay open, for what is still in them. */
const DRAIN_MS = 1000;

export interface GroupOptions {
  cwd?: string | undefined;
  /** How long the group may take to end by itself after a signal; then it is killed. */
  graceMs?: number;
  /** Called with each piece of standard output. */
  onStdout?(output: Buffer): void;
}

/** One run of a shell line. What it writes is always read, so that it never waits for Muster; the end of it is kept. */
export class ProcessGroup {
  readonly line: string;
  readonly #graceMs: number;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #stdout = new OutputTail();
  readonly #ready = new ReadyLine();
  readonly #stderr = new OutputTail();
  #how: string | undefined;
  #code: number | undefined;
  #stopping: Promise<void> | undefined;
  #leftBehind = false;

  constructor(
    line: string,
    env: Readonly<Record<string, string | undefined>>,
    { cwd, graceMs = GRACE_MS, onStdout = () => {} }: GroupOptions = {},
  ) {
    this.line = line;
    this.#graceMs = graceMs;
    this.#child = spawn('/bin/sh', ['-c', line], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: env as NodeJS.ProcessEnv,
      ...defined({ cwd }),
    });
    this.#child.stdout?.on('data', (output: Buffer) => {
      this.#ready.add(output);
      onStdout(output);
      this.#stdout.add(output);
    });
    this.#child.stderr?.on('data', (output: Buffer) => {
      this.#stderr.add(output);
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#how = `could not be started (${error.message})`;
        resolve();
      });
      this.#child.once('exit', (code, signal) => {
        this.#code = code ?? undefined;
        this.#how ??= signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
      });
      // `close`, not `exit`: what is still in the pipe of stderr belongs to the reason.
      this.#child.once('close', () => resolve());
    });
  }

  /** The line as messages call it: of several lines the first. */
  get label(): string {
    return labelOf(this.line);
  }

  get running(): boolean {
    return this.#how === undefined;
  }

  /** How it ended, in words; undefined while it runs. */
  get how(): string | undefined {
    return this.#how;
  }

  /** Its exit code; undefined while it runs, and when a signal ended it. */
  get code(): number | undefined {
    return this.#code;
  }

  /** How it ended although nobody called `stop`, in words. */
  get endedByItself(): string | undefined {
    return this.#stopping === undefined ? this.#how : undefined;
  }

  /** Whether something that it started outlived the group and still holds its output. Known when `stop` has resolved. */
  get leftBehind(): boolean {
    return this.#leftBehind;
  }

  /** The line by which it said that it serves; undefined until then. */
  get ready(): Readonly<Record<string, unknown>> | undefined {
    return this.#ready.found;
  }

  /** Resolves when it has ended and all of its output was read. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  get stdout(): string {
    return this.#stdout.text;
  }

  get stderr(): string {
    return this.#stderr.text;
  }

  /** Ends the whole group, by force after `graceMs`. Resolves when no process of it is left. Idempotent. */
  stop(signal: StopSignal = 'SIGTERM'): Promise<void> {
    this.#stopping ??= this.#stop(signal);
    return this.#stopping;
  }

  async #stop(signal: StopSignal): Promise<void> {
    this.#signal(signal);
    if ((await this.#gone(this.#graceMs)) === undefined) {
      this.#signal('SIGKILL');
      await this.#gone(Number.POSITIVE_INFINITY);
    }
    // A process that left the group may hold the pipes open, and `close` would never come.
    this.#leftBehind = !(await this.#endedWithin(DRAIN_MS));
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  async #endedWithin(ms: number): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<false>();
    const timer = setTimeout(resolve, ms, false);
    const ended = await Promise.race([this.#ended.then(() => true), late]);
    clearTimeout(timer);
    return ended;
  }

  #gone(timeoutMs: number): Promise<true | undefined> {
    const look = () => (this.#alive() ? undefined : true);
    return pollWithin(`the end of ${this.label}`, look, { timeoutMs, firstPauseMs: POLL_MS });
  }

  #alive(): boolean {
    const { pid } = this.#child;
    if (pid === undefined) return false;
    try {
      process.kill(-pid, 0);
    } catch {
      return false;
    }
    // Zombies stay listed until their new parent reaps them, which may be late; they count as gone.
    return this.#how === undefined || hasLiving(pid);
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // The group has ended already.
    }
  }
}

/** A shell line in backticks, of several lines the first. */
export function labelOf(line: string): string {
  const [first = '', ...more] = line.trim().split('\n');
  return `\`${first}${more.length === 0 ? '' : ' …'}\``;
}

/** Whether the group has a process that is no zombie; true where there is no /proc to tell. */
function hasLiving(group: number): boolean {
  let entries: string[];
  try {
    entries = readdirSync('/proc');
  } catch {
    return true;
  }
  return entries.some((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      // The name may hold anything, but the last parenthesis ends it; then come state, parent and group.
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const [state, , own] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(own) === group && state !== 'Z' && state !== 'X';
    } catch {
      return false;
    }
  });
}
