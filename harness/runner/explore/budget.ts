import { runningMs } from '../../common/waiting.ts';

const OVERDUE = 3;

interface Bounds {
  ms: number;
  /** Most requests. */
  requests: number;
  /** Requests made even if they take longer than `ms`, on a busy machine or a slow target. */
  least: number;
  lateMs: number;
}

/**
 * Bounds of an exploration. Drawing ends after `requests`, or after `ms` if `least` requests were made; `lateMs` ends
 * all of it, so that a slow target has a verdict on the part that was asked. Time in which this process stood still
 * does not count, so that a busy machine leaves nothing out.
 */
export class Budget {
  readonly #bounds: Readonly<Bounds>;
  readonly #now: () => number;
  readonly #began: number;
  requests = 0;
  /** Whether drawing is over: what is left, such as tidying up, has no bound. */
  isClosed = false;

  constructor(bounds: Bounds, now = runningMs) {
    this.#bounds = bounds;
    this.#now = now;
    this.#began = now();
  }

  /** For what is drawn. */
  get isOver(): boolean {
    const { ms, requests, least } = this.#bounds;
    return this.requests >= requests || (this.requests >= least && this.#spentMs >= ms) || this.isLate;
  }

  /** For everything. */
  get isLate(): boolean {
    return this.#spentMs >= this.#bounds.lateMs;
  }

  /** For a request that belongs to a part begun in time: a check has a limit of its own. */
  get isOverdue(): boolean {
    return !this.isClosed && this.#spentMs >= OVERDUE * this.#bounds.lateMs;
  }

  get #spentMs(): number {
    return this.#now() - this.#began;
  }
}
