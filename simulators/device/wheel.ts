/** One timer for many members: heartbeats of all streams of a process, keep-alive of all its broker connections. */
import type { Time, Timer } from './uplink/time.ts';

export interface WheelMember {
  beat(): void;
}

/**
 * Wheel that serves its slots in turn; a member joins the slot current at its arrival. A timer for each of thousands of
 * devices would cost more than the devices.
 */
export class Wheel {
  readonly #time: Omit<Time, 'now'>;
  readonly #tickMs: number;
  readonly #slots: Set<WheelMember>[];
  #position = 0;
  /** Due time of the current slot, on the steady clock. */
  #reachedAt = 0;
  #members = 0;
  #timer: Timer | undefined;

  /** `turnMs`: milliseconds of a turn, which serves each slot once. */
  constructor(time: Omit<Time, 'now'>, turnMs: number, slots: number) {
    this.#time = time;
    this.#tickMs = turnMs / slots;
    this.#slots = Array.from({ length: slots }, () => new Set());
  }

  /** Calls `beat` once a turn from now on. Returns the slot, for `delete`. */
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

  /** Slots due by the clock, because counting the late ticks of a busy machine would stretch a turn. */
  protected due(): number {
    const due = Math.floor((this.#time.elapsed() - this.#reachedAt) / this.#tickMs);
    this.#reachedAt += due * this.#tickMs;
    return Math.min(due, this.#slots.length);
  }
}
