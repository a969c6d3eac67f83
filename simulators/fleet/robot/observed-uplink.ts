/** The uplink of a fleet robot: the same code as a single device's, watched from outside, and able to be cut and restored. */
import type { DeploymentPort, SyncResult, Uplink, UplinkStatus } from '../../device/ports.ts';
import type { UplinkFactory, UplinkIdentity } from '../../device/uplink/index.ts';
import type { SyncEvents } from '../../device/uplink/scheduler.ts';

/** When things happen between platform and robot; moments are read by the listener. */
export interface UplinkListener {
  syncStarted(): void;
  /** The device is as the platform wants it, and the platform has been told. */
  synced(): void;
  syncFailed(error: Error): void;
  /** Neither enrolled nor connected for now; it is tried again. */
  unreachable(error: Error): void;
  connecting(): void;
  online(): void;
  /** Enrolling or connecting ended for good. */
  refused(error: Error): void;
}

/** Makes the uplink of one robot; called again after each cut. */
export type MakeUplink = (port: DeploymentPort, identity: UplinkIdentity, listener: UplinkListener) => Uplink;

/** Tells the listener what every uplink's own scheduler tells the uplink. */
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

/** Stands where a device expects its uplink, over as many connections as a scenario makes and breaks. */
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

  /** Never rejects: what goes wrong is told to the listener. */
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

  /** Connects anew after a cut; resolves when online. */
  async restore(): Promise<void> {
    await this.#inner.stop();
    // Another call may have restored it meanwhile.
    if (this.#stopped || this.#inner.status !== 'stopped') return;
    this.#inner = this.#make();
    await this.start();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
