/** One timer for the heartbeats of every stream in the process: a wheel whose slots are served in turn. */

export interface Beating {
  beat(): void;
}

const SLOTS = 32;
const SHORTEST_TICK_MS = 5;

class Wheel {
  readonly #slots: Set<Beating>[];
  #hand = 0;
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #tickMs: number;

  constructor(intervalMs: number) {
    const slots = Math.max(1, Math.min(SLOTS, Math.floor(intervalMs / SHORTEST_TICK_MS)));
    this.#slots = Array.from({ length: slots }, () => new Set());
    this.#tickMs = intervalMs / slots;
  }

  /** Beats once every turn of the wheel from now on; the result ends that. */
  add(stream: Beating): () => void {
    const slot = this.#slots[this.#hand];
    slot?.add(stream);
    this.#size += 1;
    this.#timer ??= setInterval(() => this.#tick(), this.#tickMs).unref();
    return () => {
      if (!slot?.delete(stream)) return;
      this.#size -= 1;
      if (this.#size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #tick(): void {
    this.#hand = (this.#hand + 1) % this.#slots.length;
    for (const stream of this.#slots[this.#hand] ?? []) stream.beat();
  }
}

const wheels = new Map<number, Wheel>();

export function heartbeat(stream: Beating, intervalMs: number): () => void {
  let wheel = wheels.get(intervalMs);
  if (!wheel) {
    wheel = new Wheel(intervalMs);
    wheels.set(intervalMs, wheel);
  }
  return wheel.add(stream);
}
