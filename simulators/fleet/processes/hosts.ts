/** The hosts of a fleet, in this process or in workers. They are called together; one that dies is left out. */
import { mkdirSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { Host, HostConfig, HostEvents, StopMode } from '../host/host.ts';
import type { RobotHost } from '../host/robot-host.ts';
import { MemoryKills } from '../measure/cgroup.ts';
import type { Snapshot } from '../measure/metrics.ts';
import { monotonicMs } from '../schedule/scheduler.ts';
import { startWorker, WorkerDied, type WorkerHost } from './process-host.ts';

interface Entry {
  host: Host | WorkerHost;
  config: HostConfig;
}

interface HostsOptions {
  configs: readonly HostConfig[];
  /** Whether each host is a separate process. */
  processes: boolean;
  eventsOf(config: HostConfig): HostEvents;
  /** A worker that gives no sign of life for so many milliseconds is lost. */
  silentMs?: number | undefined;
  /** Called when a host died or failed; it is left out from then on. */
  onLost(reason: string): void;
}

/** No host of the fleet is left. What each died of has been reported. */
export class NoHostLeft extends Error {
  override name = 'NoHostLeft';
}

export class Hosts {
  readonly #options: HostsOptions;
  readonly #entries = new Map<string, Entry>();
  /** Measurements of hosts that were killed. */
  readonly pastSnapshots: Snapshot[] = [];
  /** The ends of hosts that were lost. */
  readonly #lost: Promise<void>[] = [];
  /** From before the first worker. */
  readonly #kills = new MemoryKills();
  #stopping = false;
  /** Loaded unless each host is a process. */
  #RobotHost: typeof RobotHost | undefined;

  constructor(options: HostsOptions) {
    this.#options = options;
  }

  /** The first host and its robots; starts that host alone when none has started yet. */
  async first(): Promise<{ host: Host; members: readonly number[] }> {
    const [config] = this.#options.configs;
    await this.#load();
    if (config === undefined) throw new Error('this fleet has no hosts');
    return { host: this.#entries.get(config.name)?.host ?? this.#add(config), members: config.members };
  }

  /**
   * Starts the missing hosts one by one: each process takes a moment, and an interrupt must not wait for all of them.
   */
  async start(): Promise<void> {
    await this.#load();
    for (const config of this.#options.configs) {
      if (this.#stopping) return;
      if (!this.#entries.has(config.name)) this.#add(config);
      await setImmediate();
    }
  }

  get names(): string[] {
    return [...this.#entries.keys()];
  }

  /** Of the worker processes that there are now. */
  get pids(): number[] {
    return [...this.#entries.values()].flatMap(({ host }) => ('pid' in host ? (host.pid ?? []) : []));
  }

  /** Calls every host; resolves with the answers. Rejects with NoHostLeft when all of them died or failed. */
  async each<T>(call: (host: Host) => Promise<T>): Promise<T[]> {
    const entries = [...this.#entries];
    const results = await Promise.allSettled(entries.map(([, { host }]) => call(host)));
    const values: T[] = [];
    for (const [position, result] of results.entries()) {
      if (result.status === 'fulfilled') {
        values.push(result.value);
        continue;
      }
      this.#lose(entries[position]?.[0], result.reason as Error);
    }
    if (values.length === 0) throw new NoHostLeft('no host of the fleet is left');
    return values;
  }

  /**
   * Gives each host its part of more robots, one after the other as in the beginning. `first`: how many robots there
   * are.
   */
  async grow(members: readonly number[], first: number): Promise<void> {
    const { configs } = this.#options;
    const robots = first + members.length;
    const calls = configs.map(async ({ name }, number) => {
      const part = members.filter((_member, position) => (first + position) % configs.length === number);
      const entry = this.#entries.get(name);
      if (entry === undefined) return;
      await entry.host.grow(part, robots);
      entry.config = { ...entry.config, robots, members: [...entry.config.members, ...part] };
    });
    await Promise.all(calls);
  }

  #lose(name: string | undefined, why: Error): void {
    const entry = name === undefined ? undefined : this.#entries.get(name);
    if (this.#stopping || name === undefined || entry === undefined) return;
    this.#lost.push(entry.host.stop('abandon').catch(() => {}));
    this.#entries.delete(name);
    const killed = why instanceof WorkerDied && why.signal === 'SIGKILL';
    this.#options.onLost(`${name} is lost: ${why.message}${killed ? this.#kills.cause : ''}`);
  }

  /**
   * Kills a worker like a loss of power, and after `downMs` milliseconds starts another on the same disk: its robots
   * start again, and their subscribers resume where the old ones were. Resolves with false when that host is not a
   * worker process.
   */
  async replace(name: string, downMs: number): Promise<boolean> {
    const entry = this.#entries.get(name);
    if (entry === undefined || !('kill' in entry.host)) return false;
    try {
      const [snapshot, cursors] = await Promise.all([entry.host.snapshot(), entry.host.cursors()]);
      this.pastSnapshots.push(snapshot);
      await entry.host.kill();
      await new Promise((resolve) => setTimeout(resolve, downMs));
      if (this.#stopping) return true;
      const host = this.#add({ ...entry.config, cursors });
      await host.prepare();
      await host.runPhase({ index: 0, phase: { do: 'ramp', over: '1s' }, epoch: monotonicMs() });
    } catch (error) {
      this.#lose(name, error as Error);
    }
    return true;
  }

  /** Stops every host, then rejects with the failures, if any. */
  async stop(how: StopMode): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#lost);
    const results = await Promise.allSettled([...this.#entries.values()].map(({ host }) => host.stop(how)));
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} hosts did not stop cleanly`);
  }

  /** Loads the robots where they are in this process. Beside workers, it would hold their code for nothing. */
  async #load(): Promise<void> {
    if (!this.#options.processes) this.#RobotHost ??= (await import('../host/robot-host.ts')).RobotHost;
  }

  #add(config: HostConfig): Host {
    mkdirSync(config.robotsDir, { recursive: true, mode: 0o700 });
    const events = this.#options.eventsOf(config);
    const { silentMs } = this.#options;
    const host = this.#RobotHost ? new this.#RobotHost(config, events) : startWorker(config, events, silentMs);
    this.#entries.set(config.name, { host, config });
    return host;
  }
}
