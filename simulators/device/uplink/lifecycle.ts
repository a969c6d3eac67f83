import { isTemporary, NetworkError } from '../../common/platform-http.ts';
import type { Identity } from '../options.ts';
import type { DeploymentPort, SyncResult, Uplink, UplinkStatus } from '../ports.ts';
import { type DeploymentSource, type Shared, Syncer } from './sync.ts';
import {
  failureDelay,
  moment,
  networkDelay,
  POLL_INTERVAL,
  pause,
  reconnectDelay,
  type Time,
  type Timer,
} from './time.ts';

type SyncRunner = Pick<Syncer, 'run' | 'nextAttemptAt'>;

export interface SyncEvents {
  onSyncStarted(): void;
  /** Runs after each successful sync, even if a deployment must be retried. */
  onReached(): void;
  /** Runs after a sync that leaves no deployment to retry. */
  onSynced(): void;
  onSyncFailed(error: Error): void;
}

const STOPPING: SyncResult = { code: 'network_connection_error', message: 'the device is stopping' };

export class Scheduler {
  readonly #syncer: SyncRunner;
  readonly #time: Time;
  readonly #signal: AbortSignal;
  readonly #events: SyncEvents;
  readonly #pollMs: number;
  #running: Promise<SyncResult> | undefined;
  #again = false;
  #timer: Timer | undefined;
  /** Consecutive syncs that failed with a network error; `#failures` counts other failed syncs. */
  #unreachable = 0;
  #failures = 0;
  /** Milliseconds of the steady clock; 0 without a pause after a failure. */
  #cooldownUntil = 0;
  /** Milliseconds since 1970; 0 before the first sync. */
  syncedAt = 0;

  constructor(syncer: SyncRunner, time: Time, signal: AbortSignal, events: SyncEvents, pollMs = POLL_INTERVAL) {
    this.#syncer = syncer;
    this.#time = time;
    this.#signal = signal;
    this.#events = events;
    this.#pollMs = pollMs;
  }

  sync(): Promise<SyncResult> {
    if (this.#running) return this.#running;
    if (this.#signal.aborted) return Promise.resolve(STOPPING);
    const left = this.#cooldownUntil - this.#time.elapsed();
    if (left <= 0) return this.#run();
    const endsAt = new Date(this.#time.now() + left).toISOString();
    const message = `syncing failed; the next attempt is at ${endsAt}`;
    return Promise.resolve({ code: 'in_cooldown', message, endsAt });
  }

  /** Starts a sync, or repeats the running one, which may miss the change behind this request. */
  syncRequested(): void {
    if (this.#running) this.#again = true;
    else void this.sync();
  }

  async settled(): Promise<void> {
    await this.#running;
  }

  /** The caller must abort the signal first, so that no new sync starts. */
  async stop(): Promise<void> {
    await this.#running;
    this.#time.cancel(this.#timer);
  }

  #run(): Promise<SyncResult> {
    this.#time.cancel(this.#timer);
    this.#running = this.#passes().finally(() => {
      this.#running = undefined;
      if (this.#signal.aborted) return;
      this.#timer = this.#time.after(Math.max(0, this.#nextAt() - this.#time.elapsed()), () => {
        // Bypasses `sync`, which refuses during a pause, because the timer may fire slightly before its end.
        if (this.#running) this.#again = true;
        else if (!this.#signal.aborted) void this.#run();
      });
    });
    return this.#running;
  }

  async #passes(): Promise<SyncResult> {
    try {
      do {
        this.#again = false;
        this.#events.onSyncStarted();
        await this.#syncer.run(this.#signal);
      } while (this.#again);
    } catch (failure) {
      if (this.#signal.aborted) return STOPPING;
      const error = failure as Error;
      this.#events.onSyncFailed(error);
      if (error instanceof NetworkError) {
        this.#unreachable++;
        return { code: 'network_connection_error', message: error.message };
      }
      this.#unreachable = 0;
      const delay = failureDelay(this.#failures++);
      this.#cooldownUntil = this.#time.elapsed() + delay;
      return { code: 'in_cooldown', message: error.message, endsAt: new Date(this.#time.now() + delay).toISOString() };
    }
    this.#unreachable = 0;
    this.#failures = 0;
    this.#cooldownUntil = 0;
    this.syncedAt = this.#time.now();
    this.#events.onReached();
    if (this.#syncer.nextAttemptAt === undefined) this.#events.onSynced();
    return { code: 'success', message: 'the device is synced' };
  }

  #nextAt(): number {
    const now = this.#time.elapsed();
    if (this.#unreachable > 0) return now + Math.min(this.#pollMs, networkDelay(this.#unreachable - 1));
    // Keeps the pause after a failure, even if a deployment is due for a retry.
    if (this.#cooldownUntil > 0) return this.#cooldownUntil;
    return Math.min(now + this.#pollMs, this.#syncer.nextAttemptAt ?? Number.POSITIVE_INFINITY);
  }
}

export type UplinkIdentity = Pick<Identity, 'name' | 'directory' | 'io'>;

interface Platform extends DeploymentSource {
  /** Rejects with ApiError if the platform refuses. */
  enrol(name: string, signal: AbortSignal): Promise<void>;
}

export interface SyncHabits {
  /** Milliseconds between unrequested syncs, default 12 hours. */
  pollsEveryMs?: number;
  retriesForEver?: boolean;
}

export abstract class UplinkLifecycle implements Uplink, SyncEvents {
  protected readonly name: string;
  protected readonly scheduler: Scheduler;
  protected readonly signal: AbortSignal;
  /** Milliseconds since 1970; 0 for never. */
  protected connectedAt = 0;
  protected disconnectedAt = 0;
  protected online: PromiseWithResolvers<void> | undefined;
  readonly #shared: Shared;
  readonly #platform: Platform;
  readonly #abort = new AbortController();
  readonly #attempted = Promise.withResolvers<void>();
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(shared: Shared, port: DeploymentPort, platform: Platform, name: string, habits: SyncHabits) {
    this.#shared = shared;
    this.#platform = platform;
    this.name = name;
    this.signal = this.#abort.signal;
    const syncer = new Syncer(port, platform, shared.time, habits.retriesForEver);
    this.scheduler = new Scheduler(syncer, shared.time, this.signal, this, habits.pollsEveryMs);
  }

  abstract readonly deviceId: string | undefined;
  protected abstract readonly liveStatus: UplinkStatus;
  abstract sync(): Promise<SyncResult>;
  protected abstract open(): Promise<void>;
  /** Runs after `open` has ended and the signal is aborted. */
  protected abstract close(): Promise<void>;

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

  /** Rejects if the platform refuses the robot, or `stop` is called before the robot is online. */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  onSyncStarted(): void {}
  onReached(): void {}
  onSynced(): void {}
  abstract onSyncFailed(error: Error): void;

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

  /** Waits until `online` is settled; rejects when the uplink stops earlier. */
  protected async untilOnline(begin: () => void): Promise<void> {
    const { signal } = this;
    signal.throwIfAborted();
    const online = Promise.withResolvers<void>();
    this.online = online;
    const abort = () => online.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    begin();
    await online.promise.finally(() => signal.removeEventListener('abort', abort));
    this.online = undefined;
  }

  /** Milliseconds before a retry, derived from the robot's name so that runs are reproducible. */
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
    const started = this.#starting;
    // A pending start may still write below the robot's directory.
    await started?.catch(() => {});
    await this.close();
    if (started) await this.#shared.release();
  }
}
