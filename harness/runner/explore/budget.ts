/** What has to be asked may take that many times as long as what is drawn. */
const LATE = 3;

interface Bounds {
  ms: number;
  /** At most, and at least where they take longer than `ms`: on a busy machine, or a slow target. */
  requests: number;
  least: number;
}

/**
 * What an exploration may take. What is drawn ends with `requests`, or once it is both longer than `ms` and more than
 * `least`; three times `ms` ends everything.
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
    return this.#spentMs >= LATE * this.#bounds.ms;
  }

  get #spentMs(): number {
    return this.#now() - this.#began;
  }
}
