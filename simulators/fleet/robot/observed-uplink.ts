/** The uplink of a fleet robot: the same code as a single device's, but observed, and able to be cut and restored. */
import type { DeploymentPort, SyncResult, Uplink, UplinkStatus } from '../../device/ports.ts';
import type { UplinkFactory, UplinkIdentity } from '../../device/uplink/index.ts';
import type { SyncEvents } from '../../device/uplink/scheduler.ts';

/** Called when something happens between platform and robot. */
export interface UplinkListener {
  syncStarted(): void;
  /** The device is in the state that the platform wants, and has reported it. */
  synced(): void;
  syncFailed(error: Error): void;
  /** Enrolling or connecting failed; it will be retried. */
  unreachable(error: Error): void;
  connecting(): void;
  online(): void;
  /** Enrolling or connecting failed and will not be retried. */
  refused(error: Error): void;
}

/** Makes the uplink of one robot; called again after each cut. */
export type MakeUplink = (port: DeploymentPort, identity: UplinkIdentity, listener: UplinkListener) => Uplink;

/** Wraps a factory so that the listener hears what each uplink's scheduler reports. */
export const observedUplinks =
  (factory: UplinkFactory): MakeUplink =>
  (port, identity, listener) => {
    const uplink = factory(port, identity) as Uplink & SyncEvents & { onUnreachable?(error: Error): void };
    const { onSyncStarted, onSynced, onSyncFailed } = uplink;
    uplink.onSyncStarted = () => {
      listener.syncStarted();
      onSyncStarted.call(uplink);
    };
    uplink.onSynced = () => {
      onSynced.call(uplink);
      listener.synced();
    };
    uplink.onSyncFailed = (error) => {
      onSyncFailed.call(uplink, error);
      listener.syncFailed(error);
    };
    uplink.onUnreachable = (error) => listener.unreachable(error);
    return uplink;
  };

/** What the device sees as its uplink, while a scenario makes and breaks connections behind it. */
export class RobotUplink implements Uplink {
  readonly #make: () => Uplink;
  readonly #listener: UplinkListener;
  #inner: Uplink;
  #stopped = false;

  constructor(make: MakeUplink, port: DeploymentPort, identity: UplinkIdentity, listener: UplinkListener) {
    this.#make = () => make(port, identity, listener);
    this.#listener = listener;
    this.#inner = this.#make();
  }

  get status(): UplinkStatus {
    return this.#inner.status;
  }
  get deviceId(): string | undefined {
    return this.#inner.deviceId;
  }
  get lastSyncedAt(): string | undefined {
    return this.#inner.lastSyncedAt;
  }
  get lastConnectedAt(): string | undefined {
    return this.#inner.lastConnectedAt;
  }
  get lastDisconnectedAt(): string | undefined {
    return this.#inner.lastDisconnectedAt;
  }

  /** Never rejects: failures go to the listener. */
  async start(): Promise<void> {
    const inner = this.#inner;
    this.#listener.connecting();
    try {
      await inner.start();
      if (inner === this.#inner && inner.status !== 'stopped') this.#listener.online();
    } catch (error) {
      if (inner === this.#inner && inner.status !== 'stopped') this.#listener.refused(error as Error);
    }
  }

  stop(): Promise<void> {
    this.#stopped = true;
    return this.#inner.stop();
  }

  sync(): Promise<SyncResult> {
    return this.#inner.sync();
  }

  /** Ends the connection to the platform until `restore`. */
  cut(): Promise<void> {
    return this.#inner.stop();
  }

  /** Connects again after a cut; resolves when online. */
  async restore(): Promise<void> {
    await this.#inner.stop();
    // Another call may have restored it in the meantime.
    if (this.#stopped || this.#inner.status !== 'stopped') return;
    this.#inner = this.#make();
    await this.start();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
