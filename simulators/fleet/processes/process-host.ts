/** A host of robots in a worker process. */
import type { ChildProcess } from 'node:child_process';
import type {
  CanaryOutcome,
  Host,
  HostConfig,
  HostEvents,
  PhaseOutcome,
  PhaseRequest,
  StopMode,
} from '../host/host.ts';
import type { Snapshot } from '../measure/metrics.ts';
import { HostChannel } from './channel.ts';
import { startProcess, whenExited } from './child-process.ts';

/** Time to end thousands of robots in order. */
const STOP_TIMEOUT_MS = 60_000;

/**
 * Node's flags for a worker. A larger young generation keeps the memory of a burst for good, and each collection of it stops the
 * event loop for several milliseconds, in which every action starts late.
 */
export const WORKER_FLAGS = ['--max-semi-space-size=4'];

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
    this.#ready.catch(() => {}); // The first call rejects with it.
  }

  async runCanary(robot: number): Promise<CanaryOutcome> {
    await this.#ready;
    return (await this.#channel.call('runCanary', [robot])) as CanaryOutcome;
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

  async stop(how: StopMode): Promise<void> {
    // The fleet removes the files of the robots, and the kernel the rest.
    if (how === 'abandon') return this.kill();
    const late = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    try {
      await this.#channel.call('stop', [how]).catch(() => {}); // A worker that died has stopped.
      if (this.#child.connected) this.#child.disconnect();
      await whenExited(this.#child);
    } finally {
      clearTimeout(late);
    }
  }

  /** Ends the process like a loss of power: it cannot say goodbye to anyone. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await whenExited(this.#child);
  }
}
