/**
 * Heartbeats of all streams in the process: one timer for each interval, a wheel whose slots are served in turn. One timer for
 * each stream would cost a process with thousands of devices more than the streams themselves.
 */

/** A stream that sends heartbeats. */
export interface HeartbeatTarget {
  beat(): void;
}

const SLOTS = 32;
const SHORTEST_TICK_MS = 5;

class Wheel {
  readonly #slots: Set<HeartbeatTarget>[];
  #hand = 0;
  /** When the hand reached its slot, or should have; milliseconds of `performance.now`. */
  #reachedAt = 0;
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #tickMs: number;

  constructor(intervalMs: number) {
    const slots = Math.max(1, Math.min(SLOTS, Math.floor(intervalMs / SHORTEST_TICK_MS)));
    this.#slots = Array.from({ length: slots }, () => new Set());
    this.#tickMs = intervalMs / slots;
  }

  /** Calls `beat` once for each turn of the wheel, until the returned function is called. */
  add(stream: HeartbeatTarget): () => void {
    const slot = this.#slots[this.#hand];
    slot?.add(stream);
    this.#size += 1;
    if (this.#timer === undefined) {
      this.#reachedAt = performance.now();
      this.#timer = setInterval(() => this.#turn(), this.#tickMs).unref();
    }
    return () => {
      if (!slot?.delete(stream)) return;
      this.#size -= 1;
      if (this.#size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Follows the clock: late ticks of a busy machine would add up to a turn that takes twice its time. */
  #turn(): void {
    const due = Math.floor((performance.now() - this.#reachedAt) / this.#tickMs);
    this.#reachedAt += due * this.#tickMs;
    for (let left = Math.min(due, this.#slots.length); left > 0; left -= 1) {
      this.#hand = (this.#hand + 1) % this.#slots.length;
      for (const stream of this.#slots[this.#hand] ?? []) stream.beat();
    }
  }
}

const wheels = new Map<number, Wheel>();

/** Calls `beat` of the stream every `intervalMs`, until the returned function is called. */
export function heartbeat(stream: HeartbeatTarget, intervalMs: number): () => void {
  let wheel = wheels.get(intervalMs);
  if (!wheel) {
    wheel = new Wheel(intervalMs);
    wheels.set(intervalMs, wheel);
  }
  return wheel.add(stream);
}
