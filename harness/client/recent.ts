/** Keeps the newest items of a sequence that may have no end. */

const KEPT_WHEN_DROPPING = 0.75;

/**
 * The items of a sequence within a bound on what they cost, such as bytes. Indices count from the first that ever came. An item is only
 * dropped once it was marked as read, the oldest first.
 */
export class Recent<T> implements Iterable<T> {
  readonly #limit: number;
  readonly #costOf: (item: T) => number;
  readonly #items: T[] = [];
  /** Index of the first item that is kept. */
  #first = 0;
  /** Index of the first item that was not read. */
  #unread = 0;
  #readCost = 0;
  #unreadCost = 0;

  /** `limit` bounds the cost of the items that were read. */
  constructor(limit: number, costOf: (item: T) => number) {
    this.#limit = limit;
    this.#costOf = costOf;
  }

  /** How many have come, those that were dropped among them. */
  get length(): number {
    return this.#first + this.#items.length;
  }

  /** How many were dropped. */
  get dropped(): number {
    return this.#first;
  }

  /** What the items cost that were not read. */
  get unreadCost(): number {
    return this.#unreadCost;
  }

  push(item: T): void {
    this.#items.push(item);
    this.#unreadCost += this.#costOf(item);
  }

  /** Marks the items before that index as read. */
  read(index: number): void {
    for (; this.#unread < Math.min(index, this.length); this.#unread += 1) {
      const cost = this.#cost(this.#unread);
      this.#unreadCost -= cost;
      this.#readCost += cost;
    }
    if (this.#readCost > this.#limit) this.#drop();
  }

  /** Drops a quarter at once: to drop one at a time would move all others each time. */
  #drop(): void {
    let dropped = 0;
    for (; this.#readCost > this.#limit * KEPT_WHEN_DROPPING && this.#first + dropped < this.#unread; dropped += 1) {
      this.#readCost -= this.#cost(this.#first + dropped);
    }
    this.#items.splice(0, dropped);
    this.#first += dropped;
  }

  /** The item of that index, from the end when it is negative; undefined when there is none or it was dropped. */
  at(index: number): T | undefined {
    return this.#items[index < 0 ? this.#items.length + index : index - this.#first];
  }

  /** The items from that index on, as far as they are kept. */
  slice(from: number): T[] {
    return this.#items.slice(Math.max(0, from - this.#first));
  }

  filter(fits: (item: T) => boolean): T[] {
    return this.#items.filter(fits);
  }

  findLast(fits: (item: T) => boolean): T | undefined {
    return this.#items.findLast(fits);
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items[Symbol.iterator]();
  }

  #cost(index: number): number {
    const item = this.at(index);
    return item === undefined ? 0 : this.#costOf(item);
  }
}
