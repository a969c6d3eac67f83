import { runningMs } from '../../common/waiting.ts';

const OVERDUE = 3;

interface Bounds {
  ms: number;
  requests: number;
  /** Minimum number of requests, which an exploration sends even after `ms` milliseconds. */
  least: number;
  lateMs: number;
}

/** Limits the requests and the time of an exploration; pauses of this process do not count as time. */
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
