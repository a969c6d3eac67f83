/** Recent figures: the difference between an earlier standing and now. */
import type { Histogram } from 'hdr-histogram-js';
import { difference, histogram, merge, summary, unlabelled } from '../measure/metrics.ts';
import type { Measured, Threshold } from '../result/thresholds.ts';

/** Shortest distance of marks, milliseconds, and their largest number, which bound the memory of a window. */
const STEP_MS = 1000;
const MOST_MARKS = 30;
const SLACK = 0.25;

interface Mark {
  atMs: number;
  counters: Record<string, number>;
  times: Map<string, Histogram>;
  seconds: Map<string, number>;
}

export class Window {
  readonly #widthMs: number;
  readonly #stepMs: number;
  /** Durations that marks keep; `true`: also by part. */
  readonly #durations: ReadonlyMap<string, boolean>;
  readonly #marks: Mark[] = [];

  constructor(widthMs: number, conditions: readonly Threshold[]) {
    this.#widthMs = widthMs;
    this.#stepMs = Math.max(STEP_MS, widthMs / MOST_MARKS);
    const durations = new Map<string, boolean>();
    for (const { metric, labels } of conditions)
      durations.set(metric, labels !== undefined || durations.get(metric) === true);
    this.#durations = durations;
  }

  /**
   * Call about once a second, first before any measurement. Returns the whole window and its halves, older first, or
   * only the whole if the window is too short; undefined until it is full.
   */
  push(standing: Measured, atMs: number): { whole: Measured; halves: Measured[] } | undefined {
    const marks = this.#marks;
    const now = this.#markOf(standing, atMs);
    const slackMs = SLACK * this.#stepMs;
    const before = (ms: number): Mark | undefined => marks.findLast((mark) => mark.atMs <= atMs - ms + slackMs);
    const start = before(this.#widthMs);
    const middle = this.#widthMs < 2 * this.#stepMs ? undefined : before(this.#widthMs / 2);
    if (start !== undefined) marks.splice(0, marks.indexOf(start));
    const newest = marks.at(-1);
    if (newest === undefined || atMs - newest.atMs >= this.#stepMs - slackMs) marks.push(now);
    if (start === undefined) return undefined;
    const whole = between(start, now);
    return { whole, halves: middle === undefined ? [whole] : [between(start, middle), between(middle, now)] };
  }

  #markOf({ metrics, counters, times, phases }: Measured, atMs: number): Mark {
    const newest = this.#marks.at(-1)?.times;
    const kept = new Map<string, Histogram>();
    for (const [key, { count }] of Object.entries(metrics)) {
      const { name, labels } = unlabelled(key);
      const parts = this.#durations.get(name);
      if (parts === undefined || (labels !== undefined && !parts)) continue;
      const known = newest?.get(key);
      const all = known?.totalCount === count ? known : copyOf(times(key));
      if (all !== undefined) kept.set(key, all);
    }
    const seconds = new Map<string, number>();
    // A repeated phase appears twice.
    for (const { label, seconds: more } of phases) seconds.set(label, (seconds.get(label) ?? 0) + more);
    return { atMs, counters: { ...counters }, times: kept, seconds };
  }
}

function copyOf(times: Histogram | undefined): Histogram | undefined {
  if (times === undefined) return undefined;
  const copy = histogram(2);
  merge(copy, times);
  return copy;
}

function between(then: Mark, now: Mark): Measured {
  const times = new Map(
    [...now.times].flatMap(([key, all]) => {
      const more = difference(all, then.times.get(key));
      return more === undefined ? [] : [[key, more] as const];
    }),
  );
  const phases = [...now.seconds].map(([label, seconds]) => ({
    label,
    seconds: Math.max(0, seconds - (then.seconds.get(label) ?? 0)),
  }));
  return {
    metrics: Object.fromEntries([...times].map(([key, more]) => [key, summary(more)])),
    counters: Object.fromEntries(
      Object.entries(now.counters).map(([name, count]) => [name, count - (then.counters[name] ?? 0)]),
    ),
    times: (name) => times.get(name),
    measuredSeconds: phases.reduce((sum, { seconds }) => sum + seconds, 0),
    phases,
  };
}
