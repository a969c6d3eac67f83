/** The seconds of a run, put together from the ticks of its hosts. */

import type { HostTick } from '../host/host.ts';
import {
  combined,
  decode,
  histogram,
  labelled,
  merge,
  type Snapshot,
  type Summary,
  summary,
  unlabelled,
} from '../measure/metrics.ts';
import type { LoadSample } from '../measure/saturation.ts';
import type { Tick } from '../result/result.ts';
import { LIMITS } from '../result/verdict.ts';

/** Counters shown as rates. */
const RATED = /^(sse\.events|.*\.attempts|.*\.errors|rollout\.missed)$/;
/** Durations shown as curves, also for each class of robots. */
const CURVES = ['rollout.ms', 'ping.ms', 'http.ms', 'sync.ms', 'connect.ms', 'reconnect.ms', 'schedule.lateness.ms'];

/** Stands for hosts whose process has ended. */
const EARLIER = 'earlier process';

/** The seconds of a run, put together from the ticks of its hosts. */
export class Progress {
  readonly #latest = new Map<string, HostTick>();
  /** Ticks since the last closed second. */
  #fresh: { host: string; tick: HostTick }[] = [];
  #counters: Record<string, number> = {};
  #lastAt = 0;
  readonly #whole = new Map<string, ReturnType<typeof histogram>>();
  /** Of what has not changed since. */
  readonly #summaries = new Map<string, Summary>();
  readonly #series: Thinned<Tick> = new Thinned(joined);
  readonly #samples = new Map<string, Thinned<LoadSample>>();
  #most = Number.POSITIVE_INFINITY;
  /** Seconds that are judged, by host. */
  readonly #judged = new Map<string, number>();
  /** The newest second. */
  latest: Tick | undefined;

  /** The run second by second; of one that is longer than two hours, in wider steps. */
  get series(): Tick[] {
    return this.#series.all;
  }

  /** The load of each host in the seconds that are judged, by name: all of them, or as many as are typical. */
  get samples(): Map<string, LoadSample[]> {
    return new Map([...this.#samples].map(([host, { all }]) => [host, all]));
  }

  /** How long the load was judged. */
  get judgedSeconds(): number {
    return Math.max(0, ...this.#judged.values());
  }

  add(host: string, tick: HostTick): void {
    const { counters: before = {} } = this.#latest.get(host)?.interval ?? {};
    const { counters } = tick.interval;
    // Counters of a process never fall: another has taken its place.
    if (Object.entries(before).some(([name, count]) => (counters[name] ?? 0) < count)) this.#addEarlier(before);
    this.#latest.set(host, tick);
    this.#fresh.push({ host, tick });
    for (const [key, text] of Object.entries(tick.interval.histograms)) {
      const times = decode(text);
      // What belongs to a part of the run belongs to the whole of it.
      for (const name of new Set([key, unlabelled(key).name])) {
        const whole = this.#whole.get(name) ?? histogram(2);
        merge(whole, times);
        this.#whole.set(name, whole);
        this.#summaries.delete(name);
      }
    }
    if (!tick.judged) return;
    const samples: Thinned<LoadSample> = this.#samples.get(host) ?? new Thinned(typical);
    samples.most = this.#most;
    samples.push(tick.load);
    this.#samples.set(host, samples);
    this.#judged.set(host, (this.#judged.get(host) ?? 0) + 1);
  }

  /** Call before the first tick of a run that goes on after an end of its process: what was measured until then. */
  resume({ histograms, counters }: Snapshot, series: readonly Tick[]): void {
    // What belongs to a part is in the whole already.
    for (const [name, text] of Object.entries(histograms)) {
      const whole = histogram(2);
      merge(whole, decode(text));
      this.#whole.set(name, whole);
    }
    this.#addEarlier(counters);
    this.#counters = this.counters;
    this.#lastAt = series.at(-1)?.at_ms ?? 0;
    const [before, last] = series.slice(-2).map(({ at_ms }) => at_ms);
    const width = last === undefined || before === undefined ? 1 : Math.max(1, Math.round((last - before) / 1000));
    this.#series.resume(series, width);
  }

  #addEarlier(counters: Record<string, number>): void {
    const all = combined([this.#latest.get(EARLIER)?.interval.counters ?? {}, counters]);
    const load = { loop_max_ms: 0, cpu: 0, cpu_wait: 0, descriptors: 0, descriptor_limit: 0, rss_bytes: 0 };
    this.#latest.set(EARLIER, { robots: {}, interval: { histograms: {}, counters: all }, load, judged: false });
  }

  /** Call before the first tick of a run that may take days: its seconds take no more than so much. */
  limit(): void {
    this.#most = MOST_SECONDS;
    this.#series.most = MOST_SECONDS;
  }

  /** Counters summed over the latest ticks of all hosts. */
  get counters(): Record<string, number> {
    return combined([...this.#latest.values()].map(({ interval }) => interval.counters));
  }

  /** What has failed. A request that did is counted by its kind as well: once is enough. */
  get errors(): number {
    const kinds = Object.entries(this.counters).filter(([name]) => name.endsWith('.errors') && name !== 'http.errors');
    return kinds.reduce((sum, [, count]) => sum + count, 0);
  }

  /** Robots that the hosts have reported. */
  get robots(): number {
    const states = [...this.#latest.values()].flatMap(({ robots }) => Object.values(robots));
    return states.reduce((sum, count) => sum + count, 0);
  }

  /** Why a robot that should be online is not, if any host knows one. */
  get trouble(): string | undefined {
    return [...this.#latest.values()].find(({ trouble }) => trouble !== undefined)?.trouble;
  }

  /** Percentiles of all durations so far, to two digits. */
  summaries(): Record<string, Summary> {
    for (const [name, of] of this.#whole) if (!this.#summaries.has(name)) this.#summaries.set(name, summary(of));
    return Object.fromEntries(this.#summaries);
  }

  /** All durations of this name so far, to two digits; undefined where nothing was measured. */
  times(name: string): ReturnType<typeof histogram> | undefined {
    return this.#whole.get(name);
  }

  /** Closes a second at `atMs`. Of `wanted` robots, those that no host has reported yet are waiting. */
  second(atMs: number, phase: string, wanted: number): Tick {
    const fresh = this.#fresh.splice(0);
    const latest = [...this.#latest.values()];
    const counters = this.counters;
    const elapsed = Math.max((atMs - this.#lastAt) / 1000, 0.001);
    const rates: Record<string, number> = {};
    for (const [name, count] of Object.entries(counters)) {
      if (RATED.test(name)) rates[name.replace(/\.attempts$/, '')] = (count - (this.#counters[name] ?? 0)) / elapsed;
    }
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
    const curves = new Map<string, ReturnType<typeof histogram>>();
    for (const [key, text] of taken) {
      const { name, labels } = unlabelled(key);
      if (!CURVES.includes(name)) continue;
      const times = decode(text);
      for (const curve of new Set([name, labelled(name, { class: labels?.class })])) {
        const whole = curves.get(curve) ?? histogram(2);
        merge(whole, times);
        curves.set(curve, whole);
      }
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

/** Two hours in seconds; in a longer soak each stands for two, then for four, and so on. */
const MOST_SECONDS = 7200;

/** A limited number of values for any number: each stands for `width` of them, and `one` puts two together. */
class Thinned<T> {
  readonly all: T[] = [];
  readonly #one: (first: T, second: T, counts: readonly [number, number]) => T;
  /** The limit; without one, all are kept. */
  most = Number.POSITIVE_INFINITY;
  #width = 1;
  #open: { value: T; count: number } | undefined;

  constructor(one: (first: T, second: T, counts: readonly [number, number]) => T) {
    this.#one = one;
  }

  /** Values of an earlier one, each of which stands for `width`. */
  resume(values: readonly T[], width: number): void {
    this.all.push(...values);
    this.#width = width;
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

/** A host that stood still is never forgotten; otherwise one second is as good as another. */
const typical = (first: LoadSample, second: LoadSample): LoadSample =>
  second.loop_max_ms > Math.max(LIMITS.longestStallMs, first.loop_max_ms) ? second : first;

/** Two times of a run as one: the mean of rates, the worst of durations. `counts`: how many seconds each stands for. */
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
