import { runningMs } from '../../common/waiting.ts';

const OVERDUE = 3;

interface Bounds {
  ms: number;
  requests: number;
  /** Minimum number of requests, sent even after `ms` on a busy machine or to a slow target. */
  least: number;
  lateMs: number;
}

/** Limits of an exploration; time in which this process stood still does not count. */
export class Budget {
  readonly #bounds: Readonly<Bounds>;
  readonly #now: () => number;
  readonly #began: number;
  requests = 0;
  isClosed = false;

  constructor(bounds: Bounds, now = runningMs) {
    this.#bounds = bounds;
    this.#now = now;
    this.#began = now();
  }

  get isOver(): boolean {
    const { ms, requests, least } = this.#bounds;
    return this.requests >= requests || (this.requests >= least && this.#spentMs >= ms) || this.isLate;
  }

  get isLate(): boolean {
    return this.#spentMs >= this.#bounds.lateMs;
  }

  get isOverdue(): boolean {
    return !this.isClosed && this.#spentMs >= OVERDUE * this.#bounds.lateMs;
  }

  get #spentMs(): number {
    return this.#now() - this.#began;
  }
}
