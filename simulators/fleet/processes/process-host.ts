/** A host of robots in a process of its own. */
import { type ChildProcess, fork } from 'node:child_process';
import type { TrialOutcome } from '../host/canary.ts';
import type { Host, HostConfig, HostEvents, PhaseOutcome, PhaseRequest } from '../host/host.ts';
import type { Snapshot } from '../measure/metrics.ts';
import { HostChannel } from './channel.ts';

/** Runs from source and from the published package alike. */
const sibling = (name: string): URL =>
  new URL(`./${name}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);
/** What ending thousands of robots in order may take. */
const STOP_MS = 60_000;

/**
 * How a worker's node is started. A larger young generation keeps for good what a burst once needed, and stops the event loop
 * for several milliseconds each time it is collected, in which every action starts late.
 */
export const WORKER_FLAGS = ['--max-semi-space-size=4'];

/** Starts a module of this folder as a process with an IPC channel; secrets are not handed down in its environment. */
export function startProcess(name: string, flags: readonly string[] = []): ChildProcess {
  const { MUSTER_API_KEY: _, ...env } = process.env;
  const execArgv = [...process.execArgv, ...flags];
  return fork(sibling(name), [], { env, execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

export function whenExited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

export class ProcessHost implements Host {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #channel: HostChannel;
  readonly #ready: Promise<unknown>;

  constructor(config: HostConfig, events: HostEvents) {
    this.name = config.name;
    this.#child = startProcess('worker', WORKER_FLAGS);
    this.#channel = new HostChannel(this.#child, config.name, events);
    this.#ready = this.#channel.configure(config);
    this.#ready.catch(() => {}); // Whoever calls first sees it.
  }

  async tryOut(robot: number): Promise<TrialOutcome> {
    await this.#ready;
    return (await this.#channel.call('tryOut', [robot])) as TrialOutcome;
  }

  async prepare(): Promise<void> {
    await this.#ready;
    await this.#channel.call('prepare', []);
  }

  async runPhase(request: PhaseRequest): Promise<PhaseOutcome> {
    return (await this.#channel.call('runPhase', [request])) as PhaseOutcome;
  }

  async finish(): Promise<void> {
    await this.#channel.call('finish', []);
  }

  async cursors(): Promise<Record<number, number>> {
    return (await this.#channel.call('cursors', [])) as Record<number, number>;
  }

  async snapshot(): Promise<Snapshot> {
    return (await this.#channel.call('snapshot', [])) as Snapshot;
  }

  async memory(): Promise<number> {
    return (await this.#channel.call('memory', [])) as number;
  }

  async stop(how: 'orderly' | 'abandon'): Promise<void> {
    // The files of its robots go with the fleet's folder, and what else a process holds goes with it.
    if (how === 'abandon') return this.kill();
    const late = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    try {
      await this.#channel.call('stop', [how]).catch(() => {}); // A worker that died has stopped.
      if (this.#child.connected) this.#child.disconnect();
      await whenExited(this.#child);
    } finally {
      clearTimeout(late);
    }
  }

  /** As a machine that loses power: nothing of it is told to anyone. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await whenExited(this.#child);
  }
}
