/** What a slow target has to be asked may take that many times as long as what is drawn. */
const LATE = 3;

/**
 * What an exploration may take. Drawn requests end with `ms` or `requests`, whichever comes first; those that have a
 * requirement of their own go on for three times as long, since a slow target answers fewer of them.
 */
export class Budget {
  readonly #bounds: { readonly ms: number; readonly requests: number };
  readonly #now: () => number;
  readonly #began: number;
  requests = 0;

  constructor(bounds: { ms: number; requests: number }, now = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
    this.#began = now();
  }

  /** For what is drawn. */
  get isOver(): boolean {
    return this.requests >= this.#bounds.requests || this.#spentMs >= this.#bounds.ms;
  }

  /** For everything. */
  get isLate(): boolean {
    return this.#spentMs >= LATE * this.#bounds.ms;
  }

  get #spentMs(): number {
    return this.#now() - this.#began;
  }
}
