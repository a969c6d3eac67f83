interface Bounds {
  ms: number;
  /** At most, and at least where they take longer than `ms`: on a busy machine, or a slow target. */
  requests: number;
  least: number;
  lateMs: number;
}

/**
 * What an exploration may take. What is drawn ends with `requests`, or once it is both longer than `ms` and more than
 * `least`; `lateMs` ends everything, so that a slow target has a verdict on what it was asked.
 */
export class Budget {
  readonly #bounds: Readonly<Bounds>;
  readonly #now: () => number;
  readonly #began: number;
  requests = 0;

  constructor(bounds: Bounds, now = () => performance.now()) {
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

  get #spentMs(): number {
    return this.#now() - this.#began;
  }
}
