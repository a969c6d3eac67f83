/** What has to be asked may take so many times as long as what is drawn. */
const LATE = 3;

/** What an exploration may take: it ends with the first of two bounds, but not before it has done the least. */
export class Budget {
  readonly #bounds: { readonly ms: number; readonly requests: number; readonly least: number };
  readonly #began = performance.now();
  requests = 0;

  /** Milliseconds and requests at most; `least`: requests that are made however slow the target is. */
  constructor(bounds: { ms: number; requests: number; least: number }) {
    this.#bounds = bounds;
  }

  get isOver(): boolean {
    const { ms, requests, least } = this.#bounds;
    return this.requests >= requests || (this.requests >= least && performance.now() - this.#began >= ms);
  }

  /** So late that not even what has to be asked can be asked whole. */
  get isLate(): boolean {
    return performance.now() - this.#began >= LATE * this.#bounds.ms;
  }
}
