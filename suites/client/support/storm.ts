/** Finds clients that repeat themselves without end, or hammer a server, even on a busy machine. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readableDuration } from '../../../harness/common/units.ts';
import { runningMs } from '../../../harness/common/waiting.ts';
import type { ClientRequest } from './server.ts';

/** Time in which a client may send at most `MOST_REFUSED` refused requests. */
export const WATCHED_MS = 3000;
export const MOST_REFUSED = 30;
const SHORT_MS = WATCHED_MS / MOST_REFUSED;
/** Watched time before the load of the machine is measured again. */
const AGAIN_MS = 1000;

/** Load of the machine: milliseconds of an empty shell command, or 0 without a shell. */
export async function shellMs(): Promise<number> {
  const started = runningMs();
  try {
    await once(spawn('/bin/sh', ['-c', ':'], { stdio: 'ignore' }), 'exit');
    return runningMs() - started;
  } catch {
    return 0;
  }
}

type Pace = 'hammers' | 'pauses' | 'unclear';

/** Pauses last from each answer to the next request. `heldUpMs`: longest pause that the machine may cause. */
export function paceOf(pausesMs: readonly number[], heldUpMs: number): Pace {
  if (heldUpMs <= SHORT_MS) return 'pauses';
  const sorted = pausesMs.toSorted((one, other) => one - other);
  const share = (part: number): number => sorted[Math.ceil(sorted.length * part) - 1] ?? Number.POSITIVE_INFINITY;
  // Minimum number of pauses for the verdict `hammers` on a busy machine.
  if (sorted.length >= 9 && share(2 / 3) < SHORT_MS / 2) return 'hammers';
  return share(1 / 2) >= heldUpMs ? 'pauses' : 'unclear';
}

/** Measures the pace of refused requests by a clock that stops while this process is held up. */
export class Storm {
  readonly #cameMs: number[] = [];
  readonly #pausesMs: number[] = [];
  readonly #nowMs: () => number;
  readonly #measure: () => Promise<number>;
  #measured = 0;
  /** Shortest time of a shell command so far, because longer times may be chance. */
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

  get pace(): Pace | undefined {
    const first = this.#cameMs.at(-1 - MOST_REFUSED);
    if (first !== undefined && (this.#cameMs.at(-1) ?? 0) - first <= WATCHED_MS) return 'hammers';
    const watchedMs = this.#watchedMs;
    if (watchedMs < WATCHED_MS) return undefined;
    const pauses = [...this.#pausesMs, this.#nowMs() - (this.#cameMs.at(-1) ?? 0)];
    // Longest pause that the machine may cause: three times the time of an empty shell command.
    const pace = paceOf(pauses, 3 * this.#shellMs);
    // Longest watch on a busy machine, as a multiple of `WATCHED_MS`.
    return pace === 'unclear' && watchedMs < 4 * WATCHED_MS ? undefined : pace;
  }

  /** Time to wait for a further request until the pace may be known. */
  get leftMs(): number {
    return Math.max(WATCHED_MS - this.#watchedMs, AGAIN_MS);
  }

  get summary(): string {
    return `${this.requests} requests in ${readableDuration(this.#watchedMs)}`;
  }

  get tooSlow(): string {
    return (
      `this machine was too slow for it: a shell that does nothing took ${readableDuration(this.#shellMs)}, ` +
      `so that ${this.summary} say nothing about the pauses of the client`
    );
  }
}

interface Asked {
  readonly firstMs: number;
  readonly recentMs: number[];
  times: number;
  /** Answer to the last but one request. */
  answer: string | undefined;
  last: ClientRequest;
}

export class Repeats {
  readonly #asked = new Map<string, Asked>();
  readonly #nowMs: () => number;
  words: string | undefined;

  constructor(nowMs = runningMs) {
    this.#nowMs = nowMs;
  }

  take(request: ClientRequest): void {
    const { method, path, query, cursor, body } = request;
    const key = JSON.stringify([method, path, query.toString(), cursor, body]);
    const now = this.#nowMs();
    const before = this.#asked.get(key);
    const { answered, status, sent } = before?.last ?? {};
    const answer = answered === undefined ? undefined : `${answered} ${status} ${sent}`;
    const isSame = before !== undefined && answer !== undefined && (before.answer ?? answer) === answer;
    const asked = isSame ? before : { firstMs: now, recentMs: [], times: 0, answer, last: request };
    this.#asked.set(key, asked);
    asked.times += 1;
    asked.recentMs.push(now);
    if (asked.recentMs.length > MOST_REFUSED + 1) asked.recentMs.shift();
    if (isSame) asked.answer = answer;
    asked.last = request;
    const isGiven = answered === 'whole' && status !== undefined && status >= 200 && status < 300;
    // Counts refused requests only if they come fast, because a client may repeat them after pauses.
    const isFast = asked.recentMs.length > MOST_REFUSED && now - (asked.recentMs[0] ?? 0) <= WATCHED_MS;
    // Number of equal requests with equal 2xx answers that counts as endless; refused requests count by their pace.
    const isEndless = isGiven ? asked.times >= 20 : isFast;
    this.words = isEndless ? wordsOf(asked, now) : undefined;
  }
}

function wordsOf({ last, answer = '', times, firstMs }: Asked, now: number): string {
  const { method, path, query, headers } = last;
  const cursor = headers['last-event-id'];
  const asked = `${method} ${path}${query.size === 0 ? '' : `?${query}`}`;
  const [, status = ''] = answer.split(' ');
  return (
    `asked for ${asked}${cursor === undefined ? '' : ` with Last-Event-ID: ${cursor}`} again and again, ` +
    `${times} times in ${((now - firstMs) / 1000).toFixed(1)} s, ` +
    `each time ${status === 'undefined' ? 'cut off' : `answered ${status}`}`
  );
}
