const NOTHING = Buffer.alloc(0);

export class Bytes {
  readonly #limit: number;
  #memory: ArrayBuffer | undefined;
  #buffer = NOTHING;
  length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get capacity(): number {
    return this.#buffer.length;
  }

  append(piece: Uint8Array): boolean {
    const fitting = piece.subarray(0, this.#limit - this.length);
    const needed = this.length + fitting.length;
    if (needed > this.#buffer.length) {
      const capacity = Math.min(this.#limit, Math.max(1024, needed, 2 * this.#buffer.length));
      this.#memory = this.#memory?.transfer(capacity) ?? new ArrayBuffer(capacity);
      this.#buffer = Buffer.from(this.#memory);
    }
    this.#buffer.set(fitting, this.length);
    this.length += fitting.length;
    return fitting.length === piece.length;
  }

  /** Shares memory: the next call of `append`, `drop` or `clear` invalidates the result. */
  view(): Buffer {
    return this.#buffer.subarray(0, this.length);
  }

  drop(count: number): void {
    this.#buffer.copyWithin(0, count, this.length);
    this.length -= count;
  }

  clear(): void {
    // `transfer(0)` frees the memory immediately; garbage collection may run late.
    this.#memory?.transfer(0);
    this.#memory = undefined;
    this.#buffer = NOTHING;
    this.length = 0;
  }
}
