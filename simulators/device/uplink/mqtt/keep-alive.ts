/** Keeps the idle connections of a whole fleet alive with a single timer. */
import type { Time, Timer } from '../time.ts';

/** Seconds, as sent in CONNECT. */
export const KEEP_ALIVE_SECONDS = 20;
/** A little sooner than promised, so that no broker ever sees a late one. */
const SLOTS = KEEP_ALIVE_SECONDS - 2;
const TICK_MS = 1000;

export interface Beating {
  /** Called every 18 s. */
  beat(): void;
}

/** A wheel of one slot a second; a connection sits in the slot of the second in which it was made. */
export class KeepAlive {
  readonly #slots: Set<Beating>[] = Array.from({ length: SLOTS }, () => new Set());
  readonly #time: Time;
  #position = 0;
  #members = 0;
  #timer: Timer | undefined;

  constructor(time: Time) {
    this.#time = time;
  }

  /** Returns the slot, to give back to `delete`. */
  add(member: Beating): number {
    const slot = this.#position;
    this.#slots[slot]?.add(member);
    this.#members++;
    this.#timer ??= this.#time.after(TICK_MS, this.#tick);
    return slot;
  }

  delete(member: Beating, slot: number): void {
    if (!this.#slots[slot]?.delete(member)) return;
    this.#members--;
    if (this.#members > 0) return;
    this.#time.cancel(this.#timer);
    this.#timer = undefined;
  }

  #tick = () => {
    this.#timer = this.#time.after(TICK_MS, this.#tick);
    this.#position = (this.#position + 1) % SLOTS;
    for (const member of this.#slots[this.#position] ?? []) member.beat();
  };
}
