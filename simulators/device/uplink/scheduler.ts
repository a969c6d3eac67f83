/** Decides when a robot syncs: on request of platform or user, after the poll interval, and again after a failure. */

import { NetworkError } from '../../common/platform-http.ts';
import type { SyncResult } from '../ports.ts';
import type { Syncer } from './sync.ts';
import { failureDelay, networkDelay, POLL_INTERVAL, type Time, type Timer } from './time.ts';

type SyncRunner = Pick<Syncer, 'run' | 'nextAttemptAt'>;

export interface SyncEvents {
  /** A pass over the platform's deployments begins. */
  onSyncStarted(): void;
  /** The platform was reached, and has the state of every deployment. */
  onReached(): void;
  /** The same, and nothing is left to retry: the device is in the state that the platform wants. */
  onSynced(): void;
  onSyncFailed(error: Error): void;
}

const STOPPING: SyncResult = { code: 'network_connection_error', message: 'the device is stopping' };

/** Runs one sync at a time. */
export class Scheduler {
  readonly #syncer: SyncRunner;
  readonly #time: Time;
  readonly #signal: AbortSignal;
  readonly #events: SyncEvents;
  readonly #pollMs: number;
  #running: Promise<SyncResult> | undefined;
  #again = false;
  #timer: Timer | undefined;
  /** Failed syncs in a row: of the network, and of any other kind. */
  #unreachable = 0;
  #failures = 0;
  /** On the steady clock; 0 for no cool-down. */
  #cooldownUntil = 0;
  /** Milliseconds since the epoch; 0 before the first. */
  syncedAt = 0;

  constructor(syncer: SyncRunner, options: { time: Time; signal: AbortSignal; events: SyncEvents; pollMs?: number }) {
    this.#syncer = syncer;
    this.#time = options.time;
    this.#signal = options.signal;
    this.#events = options.events;
    this.#pollMs = options.pollMs ?? POLL_INTERVAL;
  }

  /** Syncs now, or joins the sync that runs. While failed syncs back off it does neither. */
  sync(): Promise<SyncResult> {
    if (this.#running) return this.#running;
    if (this.#signal.aborted) return Promise.resolve(STOPPING);
    const left = this.#cooldownUntil - this.#time.elapsed();
    if (left <= 0) return this.#run();
    const next = new Date(this.#time.now() + left).toISOString();
    return Promise.resolve({ code: 'in_cooldown', message: `syncing failed; the next attempt is at ${next}` });
  }

  /** Something may have changed on the platform. A running sync may have missed it, so another one follows. */
  syncRequested(): void {
    if (this.#running) this.#again = true;
    else void this.sync();
  }

  /** Resolves when no sync runs. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Resolves when no sync runs and none will begin by itself. Expects the signal to be aborted. */
  async stop(): Promise<void> {
    await this.#running;
    this.#time.cancel(this.#timer);
  }

  #run(): Promise<SyncResult> {
    this.#time.cancel(this.#timer);
    this.#running = this.#passes().finally(() => {
      this.#running = undefined;
      if (this.#signal.aborted) return;
      this.#timer = this.#time.after(Math.max(0, this.#nextAt() - this.#time.elapsed()), () => this.#due());
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
    } catch (error) {
      return this.#failed(error as Error);
    }
    this.#unreachable = 0;
    this.#failures = 0;
    this.#cooldownUntil = 0;
    this.syncedAt = this.#time.now();
    this.#events.onReached();
    if (this.#syncer.nextAttemptAt === undefined) this.#events.onSynced();
    return { code: 'success', message: 'the device is synced' };
  }

  #failed(error: Error): SyncResult {
    if (this.#signal.aborted) return STOPPING;
    this.#events.onSyncFailed(error);
    if (error instanceof NetworkError) {
      this.#unreachable++;
      return { code: 'network_connection_error', message: error.message };
    }
    this.#unreachable = 0;
    this.#cooldownUntil = this.#time.elapsed() + failureDelay(this.#failures);
    this.#failures++;
    return { code: 'in_cooldown', message: error.message };
  }

  /** Whatever the cool-down says: a timer may be early by a fraction of a millisecond, and nothing else would set it again. */
  #due(): void {
    if (this.#running) this.#again = true;
    else if (!this.#signal.aborted) void this.#run();
  }

  /** On the steady clock. */
  #nextAt(): number {
    const now = this.#time.elapsed();
    if (this.#unreachable > 0) return now + Math.min(this.#pollMs, networkDelay(this.#unreachable - 1));
    return Math.min(this.#cooldownUntil || now + this.#pollMs, this.#syncer.nextAttemptAt ?? Number.POSITIVE_INFINITY);
  }
}
