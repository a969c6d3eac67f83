/** One timer for many members, e.g. heartbeats of all streams or keep-alives of all broker connections. */
import type { Time, Timer } from './uplink/time.ts';

export interface WheelMember {
  beat(): void;
}

/** Calls its members in turn from one timer, because thousands of timers would cost more than the devices. */
export class Wheel {
  readonly #time: Omit<Time, 'now'>;
  readonly #tickMs: number;
  readonly #slots: Set<WheelMember>[];
  #position = 0;
  #reachedAt = 0;
  #members = 0;
  #timer: Timer | undefined;

  /** `turnMs`: milliseconds in which the wheel runs each slot once. */
  constructor(time: Omit<Time, 'now'>, turnMs: number, slots: number) {
    this.#time = time;
    this.#tickMs = turnMs / slots;
    this.#slots = Array.from({ length: slots }, () => new Set());
  }

  add(member: WheelMember): number {
    const slot = this.#position;
    this.#slots[slot]?.add(member);
    this.#members += 1;
    if (this.#timer === undefined) {
      this.#reachedAt = this.#time.elapsed();
      this.#timer = this.#time.after(this.#tickMs, this.#tick);
    }
    return slot;
  }

  delete(member: WheelMember, slot: number): void {
    if (!this.#slots[slot]?.delete(member)) return;
    this.#members -= 1;
    if (this.#members > 0) return;
    this.#time.cancel(this.#timer);
    this.#timer = undefined;
  }

  #tick = (): void => {
    this.#timer = this.#time.after(this.#tickMs, this.#tick);
    for (let left = this.due(); left > 0; left -= 1) {
      this.#position = (this.#position + 1) % this.#slots.length;
      for (const member of this.#slots[this.#position] ?? []) member.beat();
    }
  };

  /** Number of slots to run, computed from the clock, because a busy machine fires timers late. */
  protected due(): number {
    const due = Math.floor((this.#time.elapsed() - this.#reachedAt) / this.#tickMs);
    this.#reachedAt += due * this.#tickMs;
    return Math.min(due, this.#slots.length);
  }
}
