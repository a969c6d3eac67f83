/** A command in a process group of its own, so that it is ended with everything it started. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StopSignal } from '../../contract/control.ts';
import { Tail } from './tail.ts';

const GRACE_MS = 10_000;
const POLL_MS = 20;

/** One run of a shell line. Kept output: all of stdout's first lines, the end of stderr. */
export class ProcessGroup {
  readonly line: string;
  readonly #graceMs: number;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #stdout = '';
  readonly #stderr = new Tail();
  #how: string | undefined;
  #stopping: Promise<void> | undefined;

  /** `graceMs`: how long it may take to end by itself once it was asked to. */
  constructor(line: string, env: Record<string, string | undefined>, cwd?: string, graceMs: number = GRACE_MS) {
    this.line = line;
    this.#graceMs = graceMs;
    this.#child = spawn('/bin/sh', ['-c', line], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: env as NodeJS.ProcessEnv,
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      if (this.#stdout.length < 65_536) this.#stdout += text;
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr.add(text);
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#how = `could not be started (${error.message})`;
        resolve();
      });
      // `close`, not `exit`: the last words on stderr belong to the reason.
      this.#child.once('exit', (code, signal) => {
        this.#how ??= signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
      });
      this.#child.once('close', () => resolve());
    });
  }

  get running(): boolean {
    return this.#how === undefined;
  }

  /** How it ended, in words; undefined while it runs. */
  get how(): string | undefined {
    return this.#how;
  }

  get stdout(): string {
    return this.#stdout;
  }

  /** The end of what it wrote to stderr. */
  get stderr(): string {
    return this.#stderr.text;
  }

  /** Ends the whole group: asks first, then insists. Resolves when no process of it is left. Idempotent. */
  stop(signal: StopSignal = 'SIGTERM'): Promise<void> {
    this.#stopping ??= this.#stop(signal);
    return this.#stopping;
  }

  async #stop(signal: StopSignal): Promise<void> {
    this.#signal(signal);
    const deadline = performance.now() + this.#graceMs;
    while (this.#alive() && performance.now() < deadline) await sleep(POLL_MS);
    if (this.#alive()) {
      this.#signal('SIGKILL');
      while (this.#alive()) await sleep(POLL_MS);
    }
    // Whoever holds the pipes open is gone with the group; a process that left the group would block `close` for ever.
    await Promise.race([this.#ended, sleep(1000)]);
  }

  #alive(): boolean {
    const { pid } = this.#child;
    if (pid === undefined) return false;
    try {
      process.kill(-pid, 0);
    } catch {
      return false;
    }
    // Dead orphans are listed until their new parent collects them, which some do late: they count for nothing.
    return this.#how === undefined || hasLiving(pid);
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // Gone already.
    }
  }
}

/** Whether a process of that group is more than a zombie. Where there is no /proc, being listed has to do. */
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
      // After the name, which may hold anything but ends with the last parenthesis: state, parent, group.
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const [state, , own] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(own) === group && state !== 'Z' && state !== 'X';
    } catch {
      return false;
    }
  });
}
