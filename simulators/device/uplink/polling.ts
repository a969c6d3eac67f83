/**
 * An uplink that uses nothing but the public Platform API: it polls the deployments of its device and applies them.
 *
 * The public API has no way to report, and no presence: on the platform a deployment that this robot has applied stays `queued`
 * (and is archived when the next one replaces it), a deployment that cannot be applied shows no error, the device is never
 * `online`, and a ping to it times out. What happens on the robot itself (files, event stream, current deployment) is as ever.
 */

import { isTemporary } from '../../common/platform-http.ts';
import type { DeploymentPort, SyncResult, Uplink, UplinkStatus } from '../ports.ts';
import type { UplinkIdentity } from './agent.ts';
import { reconnectDelay } from './backoff.ts';
import { PollingApi } from './polling-api.ts';
import type { PollingHub } from './polling-hub.ts';
import { Scheduler, type SyncEvents } from './scheduler.ts';
import { Syncer } from './sync.ts';
import { moment, pause } from './time.ts';

export class PollingUplink implements Uplink, SyncEvents {
  readonly #hub: PollingHub;
  readonly #name: string;
  readonly #api: PollingApi;
  readonly #scheduler: Scheduler;
  readonly #abort = new AbortController();
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #state: UplinkStatus = 'starting';
  #onlineSince = 0;
  #offlineSince = 0;
  /** Why the newest sync failed; undefined when it did not. */
  #failure: Error | undefined;

  constructor(hub: PollingHub, port: DeploymentPort, identity: UplinkIdentity) {
    this.#hub = hub;
    this.#name = identity.name;
    this.#api = new PollingApi(hub, identity.directory, identity.io);
    this.#scheduler = new Scheduler(new Syncer(port, this.#api, hub.time), {
      time: hub.time,
      signal: this.#abort.signal,
      events: this,
      pollMs: hub.intervalMs,
    });
  }

  get status(): UplinkStatus {
    return this.#stopping ? 'stopped' : this.#state;
  }
  get deviceId(): string | undefined {
    return this.#api.deviceId;
  }
  get lastSyncedAt(): string | undefined {
    return moment(this.#scheduler.syncedAt);
  }
  get lastConnectedAt(): string | undefined {
    return moment(this.#onlineSince);
  }
  get lastDisconnectedAt(): string | undefined {
    return moment(this.#offlineSince);
  }

  /** Resolves after the first sync. Rejects when the platform refuses this robot, or answers what no platform answers. */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  sync(): Promise<SyncResult> {
    return this.#scheduler.sync();
  }

  async #start(): Promise<void> {
    const { signal } = this.#abort;
    signal.throwIfAborted();
    this.#hub.acquire();
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#api.enrol(this.#name, signal);
        break;
      } catch (error) {
        if (!isTemporary(error)) throw error;
        this.onSyncFailed(error as Error);
        // Drawn from the robot's name: whatever else shares this process changes nothing.
        const draw = this.#hub.random.fork(`${this.#name}/${attempt}`);
        await pause(this.#hub.time, reconnectDelay(attempt, draw), signal);
      }
    }
    await this.sync();
    signal.throwIfAborted();
    if (this.#failure !== undefined && !isTemporary(this.#failure)) throw this.#failure;
  }

  async #stop(): Promise<void> {
    this.#abort.abort(new Error(`the uplink of ${this.#name} was stopped`));
    await this.#starting?.catch(() => {});
    await this.#scheduler.stop();
    if (this.#starting) await this.#hub.release();
  }

  onSyncStarted(): void {}

  onSynced(): void {}

  onReached(): void {
    if (this.#state !== 'online') this.#onlineSince = this.#hub.time.now();
    this.#state = 'online';
    this.#failure = undefined;
  }

  onSyncFailed(error: Error): void {
    if (this.#state === 'online') this.#offlineSince = this.#hub.time.now();
    this.#state = 'offline';
    this.#failure = error;
    this.#hub.log?.warn({ robot: this.#name, error: error.message }, 'cannot poll');
  }
}
