import type { Histogram } from 'hdr-histogram-js';
import {
  addDurations,
  combined,
  decode,
  encodeAll,
  labelled,
  type Snapshot,
  type Summary,
  summary,
  unlabelled,
} from '../measure/metrics.ts';
import type { LoadSample } from '../measure/saturation.ts';
import type { Tick } from '../result/result.ts';
import { LIMITS } from '../result/verdict.ts';
import type { WorkerTick } from '../worker/worker.ts';

const RATED = /^(sse\.events|.*\.attempts|.*\.errors|rollout\.missed)$/;
const CURVES = ['rollout.ms', 'ping.ms', 'http.ms', 'sync.ms', 'connect.ms', 'reconnect.ms', 'schedule.lateness.ms'];

export class Progress {
  readonly #latest = new Map<string, WorkerTick>();
  #fresh: { worker: string; tick: WorkerTick }[] = [];
  #counters: Record<string, number> = {};
  #lastAt = 0;
  readonly #whole = new Map<string, Histogram>();
  readonly #summaries = new Map<string, Summary>();
  readonly #series: Thinned<Tick> = new Thinned(joined);
  readonly #samples = new Map<string, Thinned<LoadSample>>();
  readonly #judged = new Map<string, number>();
  latest: Tick | undefined;

  get series(): Tick[] {
    return this.#series.all;
  }

  get samples(): Map<string, LoadSample[]> {
    return new Map([...this.#samples].map(([worker, { all }]) => [worker, all]));
  }

  get judgedSeconds(): number {
    return Math.max(0, ...this.#judged.values());
  }

  add(worker: string, tick: WorkerTick): void {
    this.#latest.set(worker, tick);
    this.#fresh.push({ worker, tick });
    for (const [key, text] of Object.entries(tick.interval.histograms)) {
      const times = decode(text);
      for (const name of new Set([key, unlabelled(key).name])) {
        addDurations(this.#whole, name, times);
        this.#summaries.delete(name);
      }
    }
    if (!tick.judged) return;
    const samples: Thinned<LoadSample> =
      this.#samples.get(worker) ??
      new Thinned((first, second) =>
        second.loop_max_ms > Math.max(LIMITS.longestStallMs, first.loop_max_ms) ? second : first,
      );
    samples.most = this.#series.most;
    samples.push(tick.load);
    this.#samples.set(worker, samples);
    this.#judged.set(worker, (this.#judged.get(worker) ?? 0) + 1);
  }

  lose(worker: string): void {
    const tick = this.#latest.get(worker);
    if (tick !== undefined)
      this.#latest.set(worker, { ...tick, robots: {}, load: { ...tick.load, cpu: 0, rss_bytes: 0 } });
  }

  /** Limits the memory of the time series in a run of days; call before the first tick. */
  limit(): void {
    // Maximum number of values in a time series; in a longer run, a value covers two seconds, then four.
    this.#series.most = 7200;
  }

  get counters(): Record<string, number> {
    return combined([...this.#latest.values()].map(({ interval }) => interval.counters));
  }

  /** Excludes `http.errors`, whose failures other counters contain too. */
  get errors(): number {
    const kinds = Object.entries(this.counters).filter(([name]) => name.endsWith('.errors') && name !== 'http.errors');
    return kinds.reduce((sum, [, count]) => sum + count, 0);
  }

  get robots(): number {
    const states = [...this.#latest.values()].flatMap(({ robots }) => Object.values(robots));
    return states.reduce((sum, count) => sum + count, 0);
  }

  get trouble(): string | undefined {
    return [...this.#latest.values()].find(({ trouble }) => trouble !== undefined)?.trouble;
  }

  summaries(): Record<string, Summary> {
    for (const [name, of] of this.#whole) if (!this.#summaries.has(name)) this.#summaries.set(name, summary(of));
    return Object.fromEntries(this.#summaries);
  }

  get snapshot(): Snapshot {
    return { histograms: encodeAll(this.#whole), counters: this.counters };
  }

  times(name: string): Histogram | undefined {
    return this.#whole.get(name);
  }

  /** Figures of the second that ends at `atMs`; robots that no worker reports count as waiting. */
  second(atMs: number, phase: string, wanted: number): Tick {
    const fresh = this.#fresh.splice(0);
    const latest = [...this.#latest.values()];
    const counters = this.counters;
    const seconds = (atMs - this.#lastAt) / 1000;
    // Counts a rest of less than half a second as a whole second, because late answers would look like a burst.
    const elapsed = seconds < 0.5 ? 1 : seconds;
    const rates: Record<string, number> = {};
    for (const [name, count] of Object.entries(counters))
      if (RATED.test(name)) rates[name.replace(/\.attempts$/, '')] = (count - (this.#counters[name] ?? 0)) / elapsed;
    this.#counters = counters;
    this.#lastAt = atMs;
    const robots = combined(latest.map(({ robots: states }) => states));
    const reported = Object.values(robots).reduce((sum, count) => sum + count, 0);
    if (reported < wanted) robots['waiting'] = (robots['waiting'] ?? 0) + wanted - reported;
    const tick: Tick = {
      at_ms: Math.round(atMs),
      phase,
      robots,
      rates,
      p50: {},
      p99: {},
      cpu: latest.reduce((sum, { load }) => sum + load.cpu, 0),
      rss_bytes: latest.reduce((sum, { load }) => sum + load.rss_bytes, 0),
      loop_max_ms: Math.max(0, ...fresh.map(({ tick: { load } }) => load.loop_max_ms)),
    };
    const taken = fresh.flatMap(({ tick: { interval } }) => Object.entries(interval.histograms));
    const curves = new Map<string, Histogram>();
    for (const [key, text] of taken) {
      const { name, labels } = unlabelled(key);
      if (!CURVES.includes(name)) continue;
      const times = decode(text);
      for (const curve of new Set([name, labelled(name, { class: labels?.class })])) addDurations(curves, curve, times);
    }
    for (const [name, whole] of curves) {
      const { p50, p99 } = summary(whole);
      tick.p50[name] = p50;
      tick.p99[name] = p99;
    }
    this.#series.push(tick);
    this.latest = tick;
    return tick;
  }
}

/**
 * List of limited length; when full, it joins neighbours in pairs. `one` joins two values, which stand for `counts`
 * values.
 */
class Thinned<T> {
  readonly all: T[] = [];
  readonly #one: (first: T, second: T, counts: readonly [number, number]) => T;
  most = Number.POSITIVE_INFINITY;
  #width = 1;
  #open: { value: T; count: number } | undefined;

  constructor(one: (first: T, second: T, counts: readonly [number, number]) => T) {
    this.#one = one;
  }

  push(value: T): void {
    const open = this.#open;
    const next = open === undefined ? value : this.#one(open.value, value, [open.count, 1]);
    const count = (open?.count ?? 0) + 1;
    this.#open = { value: next, count };
    if (count < this.#width) return;
    this.#open = undefined;
    this.all.push(next);
    if (this.all.length < this.most) return;
    const pairs = Array.from({ length: Math.floor(this.all.length / 2) }, (_, pair) =>
      this.all.slice(2 * pair, 2 * pair + 2),
    );
    const halved = pairs.map(([first, second]) => this.#one(first as T, second as T, [1, 1]));
    this.all.splice(0, this.all.length, ...halved);
    this.#width *= 2;
  }
}

function joined(first: Tick, second: Tick, [before, after]: readonly [number, number]): Tick {
  const worse = (of: 'p50' | 'p99') => combined([first[of], second[of]], Math.max);
  const mean = (a = 0, b = 0): number => (a * before + b * after) / (before + after);
  const names = [...new Set([...Object.keys(first.rates), ...Object.keys(second.rates)])];
  return {
    ...second,
    rates: Object.fromEntries(names.map((name) => [name, mean(first.rates[name], second.rates[name])])),
    p50: worse('p50'),
    p99: worse('p99'),
    cpu: mean(first.cpu, second.cpu),
    loop_max_ms: Math.max(first.loop_max_ms, second.loop_max_ms),
  };
}
