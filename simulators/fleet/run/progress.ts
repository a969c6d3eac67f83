/** The seconds of a run, put together from the ticks of its hosts. Their number has a limit, however long it is. */

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
  readonly series: Tick[] = [];
  /** The load of each host in the seconds that are judged, by name. */
  readonly samples = new Map<string, LoadSample[]>();

  add(host: string, tick: HostTick): void {
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
    const samples = this.samples.get(host) ?? [];
    samples.push(tick.load);
    this.samples.set(host, samples.length > MOST_SECONDS ? thinned(samples, typical) : samples);
  }

  /** Call before the first tick of a run that goes on after an end of its process: what was measured until then. */
  resume(hostName: string, interval: Snapshot, series: readonly Tick[]): void {
    const load = { loop_max_ms: 0, cpu: 0, cpu_wait: 0, descriptors: 0, descriptor_limit: 0, rss_bytes: 0 };
    this.add(hostName, { robots: {}, interval, load, judged: false });
    this.#fresh = [];
    this.#counters = this.counters;
    this.#lastAt = series.at(-1)?.at_ms ?? 0;
    this.series.push(...series);
  }

  /** Counters summed over the latest ticks of all hosts. */
  get counters(): Record<string, number> {
    return combined([...this.#latest.values()].map(({ interval }) => interval.counters));
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
    this.series.push(tick);
    if (this.series.length > MOST_SECONDS) this.series.splice(0, this.series.length, ...thinned(this.series, joined));
    return tick;
  }
}

/** Twice as many take one of two: two hours in seconds, and a week in minutes. */
const MOST_SECONDS = 7200;

/** Half as many: each pair becomes one. */
const thinned = <T>(all: readonly T[], one: (first: T, second: T) => T): T[] =>
  Array.from({ length: Math.ceil(all.length / 2) }, (_, pair) => {
    const [first, second] = [all[2 * pair] as T, all[2 * pair + 1]];
    return second === undefined ? first : one(first, second);
  });

/** A host that stood still is never forgotten; otherwise one second is as good as another. */
const typical = (first: LoadSample, second: LoadSample): LoadSample =>
  second.loop_max_ms > Math.max(LIMITS.longestStallMs, first.loop_max_ms) ? second : first;

/** Two times of a run as one: the mean of rates, the worst of durations. */
function joined(first: Tick, second: Tick): Tick {
  const worse = (of: 'p50' | 'p99') => combined([first[of], second[of]], Math.max);
  const names = [...new Set([...Object.keys(first.rates), ...Object.keys(second.rates)])];
  const mean = (name: string): number => ((first.rates[name] ?? 0) + (second.rates[name] ?? 0)) / 2;
  return {
    ...second,
    rates: Object.fromEntries(names.map((name) => [name, mean(name)])),
    p50: worse('p50'),
    p99: worse('p99'),
    cpu: (first.cpu + second.cpu) / 2,
    loop_max_ms: Math.max(first.loop_max_ms, second.loop_max_ms),
  };
}
