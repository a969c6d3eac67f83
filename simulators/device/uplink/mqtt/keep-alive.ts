/** Keeps the idle connections of a whole fleet alive with one timer. */
import type { Time, Timer } from '../time.ts';

/** Seconds, as sent in CONNECT. */
export const KEEP_ALIVE_SECONDS = 20;
/** Seconds between two PINGREQ: two less than promised, so that none is late. */
export const BEAT_SECONDS = KEEP_ALIVE_SECONDS - 2;
const TICK_MS = 1000;

export interface KeepAliveMember {
  /** Called every 18 s. */
  beat(): void;
}

/** A wheel with a slot for each second; a connection is in the slot of the second in which it was made. */
export class KeepAlive {
  readonly #slots: Set<KeepAliveMember>[] = Array.from({ length: BEAT_SECONDS }, () => new Set());
  readonly #time: Time;
  #position = 0;
  #members = 0;
  #timer: Timer | undefined;

  constructor(time: Time) {
    this.#time = time;
  }

  /** Calls `beat` every 18 s from now on. The result is the slot, for `delete`. */
  add(member: KeepAliveMember): number {
    const slot = this.#position;
    this.#slots[slot]?.add(member);
    this.#members++;
    this.#timer ??= this.#time.after(TICK_MS, this.#tick);
    return slot;
  }

  delete(member: KeepAliveMember, slot: number): void {
    if (!this.#slots[slot]?.delete(member)) return;
    this.#members--;
    if (this.#members > 0) return;
    this.#time.cancel(this.#timer);
    this.#timer = undefined;
  }

  #tick = () => {
    this.#timer = this.#time.after(TICK_MS, this.#tick);
    this.#position = (this.#position + 1) % BEAT_SECONDS;
    for (const member of this.#slots[this.#position] ?? []) member.beat();
  };
}
