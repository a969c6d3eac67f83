/** The seconds of a run, put together from the ticks of its hosts. */
import type { HostTick } from '../host/host.ts';
import { decode, histogram, merge, percentileMs, type Summary, summary } from '../measure/metrics.ts';
import type { LoadSample } from '../measure/saturation.ts';
import type { Tick } from '../result/result.ts';

/** Counters shown as rates. */
const RATED = /^(sse\.events|.*\.attempts|.*\.errors|rollout\.missed)$/;
/** Durations shown as curves. */
const CURVES = ['rollout.ms', 'ping.ms', 'http.ms', 'sync.ms', 'connect.ms', 'reconnect.ms', 'schedule.lateness.ms'];

/** The seconds of a run, put together from the ticks of its hosts. */
export class Progress {
  readonly #latest = new Map<string, HostTick>();
  /** Ticks since the last closed second. */
  #fresh: { host: string; tick: HostTick }[] = [];
  #counters: Record<string, number> = {};
  #lastAt = 0;
  readonly #whole = new Map<string, ReturnType<typeof histogram>>();
  readonly series: Tick[] = [];
  /** The load of each host in the seconds that are judged, by name. */
  readonly samples = new Map<string, LoadSample[]>();

  add(host: string, tick: HostTick): void {
    this.#latest.set(host, tick);
    this.#fresh.push({ host, tick });
    for (const [name, text] of Object.entries(tick.interval.histograms)) {
      const whole = this.#whole.get(name) ?? histogram(2);
      merge(whole, decode(text));
      this.#whole.set(name, whole);
    }
    if (!tick.judged) return;
    const samples = this.samples.get(host) ?? [];
    samples.push(tick.load);
    this.samples.set(host, samples);
  }

  /** Counters summed over the latest ticks of all hosts. */
  get counters(): Record<string, number> {
    const total: Record<string, number> = {};
    for (const { interval } of this.#latest.values()) {
      for (const [name, count] of Object.entries(interval.counters)) total[name] = (total[name] ?? 0) + count;
    }
    return total;
  }

  /** Why a robot that should be online is not, if any host knows one. */
  get trouble(): string | undefined {
    return [...this.#latest.values()].find(({ trouble }) => trouble !== undefined)?.trouble;
  }

  /** Percentiles of all durations so far, to two digits. */
  summaries(): Record<string, Summary> {
    return Object.fromEntries([...this.#whole].map(([name, of]) => [name, summary(of)]));
  }

  /** Of all durations so far, to two digits: milliseconds; undefined where nothing was measured. */
  percentile(metric: string, percent: number): number | undefined {
    const of = this.#whole.get(metric);
    return of && percentileMs(of, percent);
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
    const robots: Record<string, number> = {};
    for (const { robots: states } of latest) {
      for (const [state, count] of Object.entries(states)) robots[state] = (robots[state] ?? 0) + count;
    }
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
    for (const name of CURVES) {
      const [first, ...rest] = fresh.flatMap(({ tick: { interval } }) => interval.histograms[name] ?? []);
      if (first === undefined) continue;
      const whole = decode(first);
      for (const text of rest) merge(whole, decode(text));
      const { p50, p99 } = summary(whole);
      tick.p50[name] = p50;
      tick.p99[name] = p99;
    }
    this.series.push(tick);
    return tick;
  }
}
