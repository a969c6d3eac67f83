/** The measurements of a worker: durations and counters by name. Those of a warm-up are discarded. */
import type { Histogram } from 'hdr-histogram-js';
import { decode, encode, histogram, merge, recordMs, type Summary, summary } from './histograms.ts';
import type { CounterName, DurationName } from './metric-names.ts';

/** An action records here from its start to its end, even when the phase has ended in between. */
export interface Recorder {
  /** A duration in milliseconds. */
  time(name: DurationName, ms: number): void;
  count(name: CounterName, by?: number): void;
}

/** All measurements so far, as JSON: base64 HDR histograms and counters. */
export interface Snapshot {
  histograms: Record<string, string>;
  counters: Record<string, number>;
}

const DISCARD: Recorder = { time: () => {}, count: () => {} };

export class Metrics implements Recorder {
  readonly #whole = new Map<string, Histogram>();
  readonly #interval = new Map<string, Histogram>();
  readonly #counters = new Map<string, number>();
  readonly #onInterval: boolean;
  /** False during a warm-up. */
  measuring = true;

  /** `intervals`: also keeps what is new since the last `takeInterval`, for curves. */
  constructor({ intervals = false } = {}) {
    this.#onInterval = intervals;
  }

  /** The recorder of an action that starts now. */
  get current(): Recorder {
    return this.measuring ? this : DISCARD;
  }

  time(name: string, ms: number): void {
    recordMs(this.#of(this.#whole, name, 3), ms);
    if (this.#onInterval) recordMs(this.#of(this.#interval, name, 2), ms);
  }

  count(name: string, by = 1): void {
    this.#counters.set(name, (this.#counters.get(name) ?? 0) + by);
  }

  snapshot(): Snapshot {
    return { histograms: encodeAll(this.#whole), counters: Object.fromEntries(this.#counters) };
  }

  /** Durations since the last call, and counters since the start. */
  takeInterval(): Snapshot {
    const histograms = encodeAll(this.#interval);
    this.#interval.clear();
    return { histograms, counters: Object.fromEntries(this.#counters) };
  }

  summaries(): Record<string, Summary> {
    return Object.fromEntries([...this.#whole].map(([name, from]) => [name, summary(from)]));
  }

  #of(map: Map<string, Histogram>, name: string, digits: 2 | 3): Histogram {
    let found = map.get(name);
    if (found === undefined) {
      found = histogram(digits);
      map.set(name, found);
    }
    return found;
  }
}

function encodeAll(map: Map<string, Histogram>): Record<string, string> {
  return Object.fromEntries(
    [...map].filter(([, from]) => from.totalCount > 0).map(([name, from]) => [name, encode(from)]),
  );
}

/** The exact sum of the parts, in any number and order. */
export function mergeSnapshots(parts: readonly Snapshot[]): Snapshot {
  const histograms = new Map<string, Histogram>();
  const counters: Record<string, number> = {};
  for (const part of parts) {
    for (const [name, text] of Object.entries(part.histograms)) {
      const held = histograms.get(name);
      if (held === undefined) histograms.set(name, decode(text));
      else merge(held, decode(text));
    }
    for (const [name, count] of Object.entries(part.counters)) counters[name] = (counters[name] ?? 0) + count;
  }
  return {
    histograms: encodeAll(new Map([...histograms].sort(([a], [b]) => (a < b ? -1 : 1)))),
    counters: Object.fromEntries(Object.entries(counters).sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** Percentiles of every histogram of a snapshot. */
export function summariesOf(snapshot: Snapshot): Record<string, Summary> {
  return Object.fromEntries(Object.entries(snapshot.histograms).map(([name, text]) => [name, summary(decode(text))]));
}
