/** Time that stands still until a test moves it. */
import type { Time, Timer } from '../time.ts';

interface Pending extends Timer {
  due: number;
  task(): void;
}

/** Time whose timers run in `advance`. */
export class ManualTime implements Time {
  /** Of the steady clock. */
  #now: number;
  #turnedBy = 0;
  #pending: Pending[] = [];

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#now = start;
  }

  /** Milliseconds from now until each timer that waits, ascending. */
  get waiting(): number[] {
    return this.#pending.map(({ due }) => due - this.#now).sort((a, b) => a - b);
  }

  now(): number {
    return this.#now + this.#turnedBy;
  }

  elapsed(): number {
    return this.#now;
  }

  /** Turns the wall clock by `ms`, back when negative; no time passes. */
  turn(ms: number): void {
    this.#turnedBy += ms;
  }

  after(ms: number, task: () => void): Timer {
    const pending = { due: this.#now + ms, task };
    this.#pending.push(pending);
    return pending;
  }

  cancel(timer: Timer | undefined): void {
    this.#pending = this.#pending.filter((pending) => pending !== timer);
  }

  /** Moves on by `ms`, running what falls due on the way in its order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#pending.filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)[0];
      if (!next) break;
      this.cancel(next);
      this.#now = Math.max(this.#now, next.due);
      next.task();
    }
    this.#now = end;
  }
}
