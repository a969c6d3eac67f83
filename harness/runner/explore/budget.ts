import { runningMs } from '../../common/waiting.ts';

const OVERDUE = 3;

interface Bounds {
  ms: number;
  requests: number;
  /** Requests made even after `ms`, on a busy machine or a slow target. */
  least: number;
  lateMs: number;
}

/**
 * Bounds of an exploration. Drawing ends after `requests`, or after `ms` if `least` requests were made; everything ends
 * after `lateMs`, so that a slow target gets a verdict on the part asked. Standstills of this process do not count.
 */
export class Budget {
  readonly #bounds: Readonly<Bounds>;
  readonly #now: () => number;
  readonly #began: number;
  requests = 0;
  /** Set after drawing: tidying up has no bound. */
  isClosed = false;

  constructor(bounds: Bounds, now = runningMs) {
    this.#bounds = bounds;
    this.#now = now;
    this.#began = now();
  }

  /** Bounds draws alone. */
  get isOver(): boolean {
    const { ms, requests, least } = this.#bounds;
    return this.requests >= requests || (this.requests >= least && this.#spentMs >= ms) || this.isLate;
  }

  /** Bounds everything. */
  get isLate(): boolean {
    return this.#spentMs >= this.#bounds.lateMs;
  }

  /** Bounds requests that finish a part begun in time; the check has a limit of its own. */
  get isOverdue(): boolean {
    return !this.isClosed && this.#spentMs >= OVERDUE * this.#bounds.lateMs;
  }

  get #spentMs(): number {
    return this.#now() - this.#began;
  }
}
