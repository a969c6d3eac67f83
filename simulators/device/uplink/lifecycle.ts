/** What uplinks of all kinds have in common: start once, enrol until the platform knows the robot, sync, stop once. */
import { isTemporary } from '../../common/platform-http.ts';
import type { DiskIo } from '../log/io.ts';
import type { DeploymentPort, SyncResult, Uplink, UplinkStatus } from '../ports.ts';
import { Scheduler, type SyncEvents } from './scheduler.ts';
import type { Shared } from './shared.ts';
import { type DeploymentSource, Syncer } from './sync.ts';
import { moment, pause, reconnectDelay } from './time.ts';

export interface UplinkIdentity {
  name: string;
  /** Where the robot keeps its key and its device id. */
  directory: string;
  /** How it writes there; default: directly. */
  io?: DiskIo;
}

/** The platform as one robot uses it. */
interface Platform extends DeploymentSource {
  /** Makes sure that the platform knows the robot. Rejects with ApiError when it refuses. */
  enrol(name: string, signal: AbortSignal): Promise<void>;
}

/** An uplink of either kind. */
export abstract class UplinkLifecycle implements Uplink, SyncEvents {
  protected readonly name: string;
  protected readonly scheduler: Scheduler;
  /** Aborts when the uplink is stopped. */
  protected readonly signal: AbortSignal;
  /** Milliseconds since the epoch, 0 for never. */
  protected connectedAt = 0;
  protected disconnectedAt = 0;
  readonly #shared: Shared;
  readonly #platform: Platform;
  readonly #abort = new AbortController();
  readonly #attempted = Promise.withResolvers<void>();
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(shared: Shared, port: DeploymentPort, platform: Platform, name: string, pollMs?: number) {
    this.#shared = shared;
    this.#platform = platform;
    this.name = name;
    this.signal = this.#abort.signal;
    const { time } = shared;
    const syncer = new Syncer(port, platform, time);
    this.scheduler = new Scheduler(syncer, {
      time,
      signal: this.signal,
      events: this,
      ...(pollMs !== undefined && { pollMs }),
    });
  }

  abstract readonly deviceId: string | undefined;
  /** The status while the uplink is not stopped. */
  protected abstract readonly liveStatus: UplinkStatus;
  abstract sync(): Promise<SyncResult>;
  /** Enrols, connects, and syncs for the first time. */
  protected abstract open(): Promise<void>;
  /** Ends what `open` began; the signal is aborted already, and `open` has ended. */
  protected abstract close(): Promise<void>;

  /** Resolves when the first attempt to enrol has ended, well or not, or the uplink is stopped. */
  get firstAttempt(): Promise<void> {
    return this.#attempted.promise;
  }

  get status(): UplinkStatus {
    return this.#stopping ? 'stopped' : this.liveStatus;
  }
  get lastSyncedAt(): string | undefined {
    return moment(this.scheduler.syncedAt);
  }
  get lastConnectedAt(): string | undefined {
    return moment(this.connectedAt);
  }
  get lastDisconnectedAt(): string | undefined {
    return moment(this.disconnectedAt);
  }

  /** Rejects when the platform refuses this robot, or when it is stopped before it was online. */
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

  onSyncStarted(): void {}
  onReached(): void {}
  onSynced(): void {}
  abstract onSyncFailed(error: Error): void;

  /** Retries until the platform answers; `onFailure` hears of each attempt that will be made again. */
  protected async enrol(onFailure: (error: Error) => void): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#platform.enrol(this.name, this.signal).finally(this.#attempted.resolve);
      } catch (error) {
        if (!isTemporary(error)) throw error;
        onFailure(error as Error);
        await pause(this.#shared.time, this.retryDelay(attempt), this.signal);
      }
    }
  }

  /** Milliseconds before attempt number `attempt` to reach the platform; drawn from the robot's name, so that runs repeat. */
  protected retryDelay(attempt: number): number {
    return reconnectDelay(attempt, this.#shared.random.fork(`${this.name}/${attempt}`));
  }

  async #start(): Promise<void> {
    this.signal.throwIfAborted();
    this.#shared.acquire();
    await this.open();
  }

  async #stop(): Promise<void> {
    this.#attempted.resolve();
    this.#abort.abort(new Error(`the uplink of ${this.name} was stopped`));
    // What is under way ends soon, and may write below the robot's directory until then.
    await this.#starting?.catch(() => {});
    await this.close();
    if (this.#starting) await this.#shared.release();
  }
}
