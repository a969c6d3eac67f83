/**
 * An uplink that uses only the public Platform API: it polls the deployments of its device and applies them.
 *
 * The public API offers no way to report, and no presence. On the platform, a deployment that this robot has applied stays `queued`
 * (and is archived when the next one replaces it), a deployment that cannot be applied shows no error, the device is never
 * `online`, and a ping to it times out. On the robot itself (files, event stream, current deployment) all is as with other uplinks.
 */
import { isTemporary } from '../../common/platform-http.ts';
import type { DeploymentPort, SyncResult, UplinkStatus } from '../ports.ts';
import { type UplinkIdentity, UplinkLifecycle } from './lifecycle.ts';
import { PollingApi, type PollingHub } from './polling-api.ts';

/** An uplink that polls. */
export class PollingUplink extends UplinkLifecycle {
  readonly #hub: PollingHub;
  readonly #api: PollingApi;
  protected liveStatus: UplinkStatus = 'starting';
  /** Why the newest sync failed; undefined when it succeeded. */
  #failure: Error | undefined;

  constructor(hub: PollingHub, port: DeploymentPort, identity: UplinkIdentity) {
    const api = new PollingApi(hub, identity.directory, identity.io);
    super(hub, port, api, identity.name, hub.intervalMs);
    this.#hub = hub;
    this.#api = api;
  }

  get deviceId(): string | undefined {
    return this.#api.deviceId;
  }

  sync(): Promise<SyncResult> {
    return this.scheduler.sync();
  }

  /** Resolves after the first sync, also when the platform could not be reached for it. */
  protected async open(): Promise<void> {
    await this.enrol((error) => this.onSyncFailed(error));
    await this.sync();
    this.signal.throwIfAborted();
    if (this.#failure !== undefined && !isTemporary(this.#failure)) throw this.#failure;
  }

  protected close(): Promise<void> {
    return this.scheduler.stop();
  }

  override onReached(): void {
    if (this.liveStatus !== 'online') this.connectedAt = this.#hub.time.now();
    this.liveStatus = 'online';
    this.#failure = undefined;
  }

  onSyncFailed(error: Error): void {
    if (this.liveStatus === 'online') this.disconnectedAt = this.#hub.time.now();
    this.liveStatus = 'offline';
    this.#failure = error;
    this.#hub.log?.warn({ robot: this.name, error: error.message }, 'cannot poll');
  }
}
