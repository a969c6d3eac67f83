/** One timer for many: heartbeats of all streams of a process, keep-alive of all its connections to a broker. */
import type { Time, Timer } from './uplink/time.ts';

export interface WheelMember {
  /** Called once in each turn of the wheel. */
  beat(): void;
}

/**
 * A wheel whose slots are served in turn; a member is in the slot of the moment in which it came. One timer for each
 * member would cost a process with thousands of devices more than the members themselves.
 */
export class Wheel {
  readonly #time: Omit<Time, 'now'>;
  readonly #tickMs: number;
  readonly #slots: Set<WheelMember>[];
  #position = 0;
  /** When that slot was reached, or should have been; on the steady clock. */
  #reachedAt = 0;
  #members = 0;
  #timer: Timer | undefined;

  /** `turnMs`: milliseconds in which each slot is served once. */
  constructor(time: Omit<Time, 'now'>, turnMs: number, slots: number) {
    this.#time = time;
    this.#tickMs = turnMs / slots;
    this.#slots = Array.from({ length: slots }, () => new Set());
  }

  /** Calls `beat` once a turn from now on. The result is the slot, for `delete`. */
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

  /**
   * Slots to serve in this tick. Follows the clock: late ticks of a busy machine would add up to a turn that takes
   * twice its time.
   */
  protected due(): number {
    const due = Math.floor((this.#time.elapsed() - this.#reachedAt) / this.#tickMs);
    this.#reachedAt += due * this.#tickMs;
    return Math.min(due, this.#slots.length);
  }
}
