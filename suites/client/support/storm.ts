/** Whether a client hammers a server that refuses it, also where a busy machine keeps it from being quick. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readableDuration } from '../../../harness/common/durations.ts';
import { runningMs } from '../../../harness/common/waiting.ts';
import { MOST_REFUSED, WATCHED_MS } from './repeats.ts';

/** Who asks too often pauses for less, on average. */
const SHORT_MS = WATCHED_MS / MOST_REFUSED;
/** A client that is held up takes no longer for a request than so many shells that do nothing. */
const SHELLS = 3;
/** On a busy machine so many pauses say something. */
const TELLING = 9;
/** There a client is watched for so many times as long. */
const LONGER = 4;
/** How busy the machine is, is measured again once a client has been watched for so long. */
const AGAIN_MS = 1000;

/** Milliseconds that a shell takes which does nothing, as long as this process runs; 0 where there is none. */
export async function shellMs(): Promise<number> {
  const started = runningMs();
  try {
    await once(spawn('/bin/sh', ['-c', ':'], { stdio: 'ignore' }), 'exit');
    return runningMs() - started;
  } catch {
    return 0;
  }
}

export type Pace = 'hammers' | 'pauses' | 'unclear';

/**
 * What the pauses between an answer and the next request say, in milliseconds, where requests were not too many in the
 * time that a client is watched. `heldUpMs`: as long as one may be that pauses for nothing.
 */
export function paceOf(pausesMs: readonly number[], heldUpMs: number): Pace {
  if (heldUpMs <= SHORT_MS) return 'pauses';
  const sorted = pausesMs.toSorted((one, other) => one - other);
  const share = (part: number): number => sorted[Math.ceil(sorted.length * part) - 1] ?? Number.POSITIVE_INFINITY;
  if (sorted.length >= TELLING && share(2 / 3) < SHORT_MS / 2) return 'hammers';
  return share(1 / 2) >= heldUpMs ? 'pauses' : 'unclear';
}

/** The requests of one client that are all refused. Times do not count while this process is held up. */
export class Storm {
  readonly #cameMs: number[] = [];
  readonly #pausesMs: number[] = [];
  readonly #nowMs: () => number;
  readonly #measure: () => Promise<number>;
  #measured = 0;
  /** The shortest time: others may be chance. */
  #shellMs = Number.POSITIVE_INFINITY;

  constructor(nowMs = runningMs, measure = shellMs) {
    this.#nowMs = nowMs;
    this.#measure = measure;
    void this.#look();
  }

  async #look(): Promise<void> {
    this.#measured += 1;
    this.#shellMs = Math.min(this.#shellMs, await this.#measure());
  }

  /** To be called when a request is refused, as soon as it has come. */
  refused(): void {
    const now = this.#nowMs();
    const before = this.#cameMs.at(-1);
    if (before !== undefined) this.#pausesMs.push(now - before);
    this.#cameMs.push(now);
    if (this.#measured === 1 && this.#watchedMs > AGAIN_MS) void this.#look();
  }

  get #watchedMs(): number {
    const now = this.#nowMs();
    return now - (this.#cameMs[0] ?? now);
  }

  get requests(): number {
    return this.#cameMs.length;
  }

  /** What is known; undefined while the client is watched. */
  get pace(): Pace | undefined {
    const first = this.#cameMs.at(-1 - MOST_REFUSED);
    if (first !== undefined && (this.#cameMs.at(-1) ?? 0) - first <= WATCHED_MS) return 'hammers';
    const watchedMs = this.#watchedMs;
    if (watchedMs < WATCHED_MS) return undefined;
    const pauses = [...this.#pausesMs, this.#nowMs() - (this.#cameMs.at(-1) ?? 0)];
    const pace = paceOf(pauses, SHELLS * this.#shellMs);
    return pace === 'unclear' && watchedMs < LONGER * WATCHED_MS ? undefined : pace;
  }

  /** Milliseconds until more may be known although nothing comes. */
  get leftMs(): number {
    return Math.max(WATCHED_MS - this.#watchedMs, AGAIN_MS);
  }

  /** What came, in words. */
  get told(): string {
    return `${this.requests} requests in ${readableDuration(this.#watchedMs)}`;
  }

  /** What kept it from being decided. */
  get tooSlow(): string {
    return (
      `this machine was too slow for it: a shell that does nothing took ${readableDuration(this.#shellMs)}, ` +
      `so that ${this.told} say nothing about the pauses of the client`
    );
  }
}
