/** Random numbers and random choices, which the same seed repeats. */

export class Draw {
  #state: number;

  /** `seed`: any 32-bit integer. */
  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** Random number in [0, 1) from the generator mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  one<T>(items: readonly [T, ...T[]]): T;
  one<T>(items: readonly T[]): T | undefined;
  one<T>(items: readonly T[]): T | undefined {
    return items[this.below(items.length)];
  }

  some<T>(items: readonly T[], count: number): T[] {
    return this.shuffled(items).slice(0, count);
  }

  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items];
    return items.map(() => left.splice(this.below(left.length), 1)[0] as T);
  }
}
