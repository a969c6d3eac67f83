const FIRST_CAPACITY = 1024;
/** Many never hold a byte. */
const NOTHING = Buffer.alloc(0);

/**
 * Bytes that come in pieces, in one buffer: a piece of one byte costs one byte, where a list of pieces would cost a
 * hundred. It takes no more than `limit` bytes.
 */
export class Bytes {
  readonly #limit: number;
  #memory: ArrayBuffer | undefined;
  #buffer = NOTHING;
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get length(): number {
    return this.#length;
  }

  /** Bytes of memory that it takes. */
  get capacity(): number {
    return this.#buffer.length;
  }

  /** Takes what fits, and says whether that was all. */
  append(piece: Uint8Array): boolean {
    const fitting = piece.subarray(0, this.#limit - this.#length);
    this.#reserve(this.#length + fitting.length);
    this.#buffer.set(fitting, this.#length);
    this.#length += fitting.length;
    return fitting.length === piece.length;
  }

  /** What has come, without a copy: only valid until the next call of `append` or `drop`. */
  view(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Forgets the first `count` bytes. */
  drop(count: number): void {
    this.#buffer.copyWithin(0, count, this.#length);
    this.#length -= count;
  }

  /** Forgets everything, and gives the memory back at once. */
  clear(): void {
    // Not left to the collector, which takes its time.
    this.#memory?.transfer(0);
    this.#memory = undefined;
    this.#buffer = NOTHING;
    this.#length = 0;
  }

  #reserve(capacity: number): void {
    if (capacity <= this.#buffer.length) return;
    this.#resize(Math.min(this.#limit, Math.max(FIRST_CAPACITY, capacity, 2 * this.#buffer.length)));
  }

  /** Moves the bytes without leaving the old buffer to the collector, which takes its time. */
  #resize(capacity: number): void {
    this.#memory = this.#memory?.transfer(capacity) ?? new ArrayBuffer(capacity);
    this.#buffer = Buffer.from(this.#memory);
  }
}
