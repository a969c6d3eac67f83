/** Connects again to a listener whose backlog is full; Python's `socketserver` has a backlog of 5. */
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../common/waiting.ts';
import { codeOf } from './errors.ts';

const PAUSES = { firstMs: 5, longestMs: 200 };
/** Milliseconds after a success during which a refusal means a full backlog, not a missing listener. */
const MOMENT_MS = 1000;
const MOST_REFUSALS = 4;

export class Entrance {
  #queue: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #lastEntered = Number.NEGATIVE_INFINITY;

  /** Connects within `withinMs` milliseconds, or throws the error of the last attempt. */
  async enter<T>(connect: () => Promise<T>, withinMs: number, signal?: AbortSignal): Promise<T> {
    const deadline = performance.now() + withinMs;
    if (this.#waiting > 0) return this.#inTurn(() => this.#again(connect, deadline, signal));
    try {
      return await this.#once(connect);
    } catch (error) {
      if (!this.#isFull(error, 0)) throw error;
      return this.#inTurn(() => this.#again(connect, deadline, signal));
    }
  }

  async #once<T>(connect: () => Promise<T>): Promise<T> {
    const connection = await connect();
    this.#lastEntered = performance.now();
    return connection;
  }

  async #again<T>(connect: () => Promise<T>, deadline: number, signal: AbortSignal | undefined): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        signal?.throwIfAborted();
        return await this.#once(connect);
      } catch (error) {
        if (!this.#isFull(error, attempt) || performance.now() >= deadline) throw error;
      }
      await sleep(backoffMs(PAUSES, attempt), undefined, signal === undefined ? {} : { signal });
    }
  }

  #isFull(error: unknown, refusals: number): boolean {
    const code = codeOf(error);
    if (code === 'EAGAIN') return true;
    return code === 'ECONNREFUSED' && refusals < MOST_REFUSALS && performance.now() - this.#lastEntered < MOMENT_MS;
  }

  async #inTurn<T>(turn: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    const mine = this.#queue.then(turn);
    this.#queue = mine.catch(() => {});
    try {
      return await mine;
    } finally {
      this.#waiting -= 1;
    }
  }
}

const ENTRANCES = new WeakMap<object, Entrance>();

export function entranceOf(endpoint: object): Entrance {
  const known = ENTRANCES.get(endpoint) ?? new Entrance();
  ENTRANCES.set(endpoint, known);
  return known;
}
