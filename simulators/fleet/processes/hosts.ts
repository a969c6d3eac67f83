/** The hosts of a fleet, in this process or in workers: called together, lost one by one. */
import { mkdirSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { Host, HostConfig, HostEvents } from '../host/host.ts';
import { RobotHost } from '../host/robot-host.ts';
import type { Snapshot } from '../measure/metrics.ts';
import { monotonicMs } from '../schedule/scheduler.ts';
import { ProcessHost } from './process-host.ts';

interface Entry {
  host: Host;
  config: HostConfig;
}

export interface HostsOptions {
  configs: readonly HostConfig[];
  /** False: all in this process. */
  processes: boolean;
  eventsOf(config: HostConfig): HostEvents;
  /** A host died or failed; it is left out from now on. */
  onLost(reason: string): void;
}

export class Hosts {
  readonly #options: HostsOptions;
  readonly #entries = new Map<string, Entry>();
  /** What hosts had measured that are no more. */
  readonly left: Snapshot[] = [];
  #stopping = false;

  constructor(options: HostsOptions) {
    this.#options = options;
  }

  /** One of them, alone, and its robots; the others need not be there yet. */
  first(): { host: Host; members: readonly number[] } {
    const [config] = this.#options.configs;
    if (config === undefined) throw new Error('a fleet without hosts');
    return { host: this.#entries.get(config.name)?.host ?? this.#add(config), members: config.members };
  }

  /** Starts those that are not there yet, one after another: each process takes a moment, and an interrupt must not wait for all. */
  async start(): Promise<void> {
    for (const config of this.#options.configs) {
      if (this.#stopping) return;
      if (!this.#entries.has(config.name)) this.#add(config);
      await setImmediate();
    }
  }

  get names(): string[] {
    return [...this.#entries.keys()];
  }

  /** Calls every host. Rejects when there is none left. */
  async each<T>(call: (host: Host) => Promise<T>): Promise<T[]> {
    const entries = [...this.#entries];
    const results = await Promise.allSettled(entries.map(([, { host }]) => call(host)));
    const values: T[] = [];
    let failure: unknown;
    for (const [position, result] of results.entries()) {
      if (result.status === 'fulfilled') {
        values.push(result.value);
        continue;
      }
      failure = result.reason;
      const [name, entry] = entries[position] ?? [];
      if (this.#stopping || name === undefined || entry === undefined) continue;
      entry.host.stop('abandon').catch(() => {});
      this.#entries.delete(name);
      this.#options.onLost(`${name} is lost: ${(result.reason as Error).message}`);
    }
    if (values.length === 0) throw failure;
    return values;
  }

  /**
   * Kills a worker as a machine dies, and `downMs` later starts another on the same disk; its robots come up again, and their
   * subscribers go on where the old ones were. Resolves with false when that host is no process.
   */
  async replace(name: string, downMs: number): Promise<boolean> {
    const entry = this.#entries.get(name);
    if (entry === undefined || !(entry.host instanceof ProcessHost)) return false;
    const [snapshot, cursors] = await Promise.all([entry.host.snapshot(), entry.host.cursors()]);
    this.left.push(snapshot);
    await entry.host.kill();
    await new Promise((resolve) => setTimeout(resolve, downMs));
    if (this.#stopping) return true;
    const host = this.#add({ ...entry.config, cursors });
    await host.prepare();
    await host.runPhase({ index: 0, phase: { do: 'ramp', over: '1s' }, epoch: monotonicMs() });
    return true;
  }

  /** Rejects with what could not be stopped, when everything else is. */
  async stop(how: 'orderly' | 'abandon'): Promise<void> {
    this.#stopping = true;
    const results = await Promise.allSettled([...this.#entries.values()].map(({ host }) => host.stop(how)));
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} hosts did not end cleanly`);
  }

  #add(config: HostConfig): Host {
    mkdirSync(config.robotsDir, { recursive: true, mode: 0o700 });
    const events = this.#options.eventsOf(config);
    const host = this.#options.processes ? new ProcessHost(config, events) : new RobotHost(config, events);
    this.#entries.set(config.name, { host, config });
    return host;
  }
}
