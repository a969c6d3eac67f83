/** Counters, and durations in HDR histograms of microseconds. */
import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';
import type { Static } from 'typebox';
import { Type } from '../../../harness/contract/shape.ts';

export const DURATION_NAMES = {
  'rollout.ms': 'roll-out, POST to event read',
  'rollout.late.ms': 'roll-out that came late',
  'rollout.command.ms': 'POST to start of sync',
  'rollout.sync.ms': 'sync until content is here',
  'rollout.write.ms': 'content to files in place',
  'rollout.event.ms': 'files in place to event read',
  'rollout.report.ms': 'event read to platform knows',
  'ping.ms': 'ping through the platform, from when it was due',
  'ping.target.ms': 'ping through the platform, from when it was sent',
  'http.ms': 'request to the Platform API, from when it was due',
  'http.target.ms': 'request to the Platform API, from when it was sent',
  'list.ms': 'page of a list, from when it was due',
  'read.ms': 'read of one device, from when it was due',
  'expand.ms': 'page with expanded deployments, from when it was due',
  'deploy.ms': 'POST of a deployment, from when it was due',
  'http.connect.ms': 'new connection to the Platform API',
  'sync.ms': 'sync of a robot',
  'sse.delivery.ms': 'event from log to client',
  'start.ms': 'start of a robot',
  'connect.ms': 'connect to the platform',
  'reconnect.ms': 'back online after a fault',
  'subscriber.reconnect.ms': 'client back on its stream',
  'schedule.lateness.ms': 'lateness of the generator, due to sent',
  'schedule.burst.ms': 'all at once: until each was sent',
} as const;
export type DurationName = keyof typeof DURATION_NAMES;
export const DURATIONS = Object.keys(DURATION_NAMES) as DurationName[];

export const COUNTERS = [
  'rollout.attempts',
  'rollout.missed',
  'rollout.errors',
  'ping.attempts',
  'ping.errors',
  'ping.offline',
  'http.attempts',
  'http.errors',
  'http.crowded',
  'list.errors',
  'read.errors',
  'expand.errors',
  'sync.errors',
  'uplink.crowded',
  'uplink.lost',
  'connect.errors',
  'request.retries',
  'sse.events',
  'start.errors',
  'storm.errors',
  'partition.errors',
  'kill.errors',
  'clock-skew.errors',
  'stop.errors',
  'connect.refused',
  'subscriber.connected',
  'subscriber.lost',
  'subscriber.refused',
  'subscriber.expired',
  'subscriber.violations',
  'exhausted',
] as const;
type CounterName = (typeof COUNTERS)[number] | `http.status.${number}`;

export const isDuration = (name: string): name is DurationName => DURATIONS.some((known) => known === name);
export const isCounter = (name: string): boolean =>
  COUNTERS.some((known) => known === name) || /^http\.status\.[1-5]\d\d$/.test(name);

const HIGHEST_MICROSECONDS = 7 * 24 * 3_600_000_000;

export const summaryFields = Type.Object({
  count: Type.Integer(),
  p50: Type.Number(),
  p90: Type.Number(),
  p95: Type.Number(),
  p99: Type.Number(),
  p999: Type.Number(),
  max: Type.Number(),
  unit: Type.Literal('ms'),
});
export type Summary = Static<typeof summaryFields>;

/** `digits`: significant digits; 2 for a second, a class or a phase, because the encoded text is ten times smaller. */
export function histogram(digits: 2 | 3 = 3): Histogram {
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: HIGHEST_MICROSECONDS,
    numberOfSignificantValueDigits: digits,
    bitBucketSize: 32,
    autoResize: false,
    useWebAssembly: false,
  });
}

export const recordMs = (into: Histogram, ms: number): void =>
  into.recordValue(Math.min(Math.max(Math.round(ms * 1000), 0), HIGHEST_MICROSECONDS));

export const percentileMs = (times: Histogram, percent: number): number =>
  times.totalCount === 0 ? 0 : times.getValueAtPercentile(percent) / 1000;

export function summary(times: Histogram): Summary {
  const at = (percent: number): number => percentileMs(times, percent);
  return {
    count: times.totalCount,
    p50: at(50),
    p90: at(90),
    p95: at(95),
    p99: at(99),
    p999: at(99.9),
    max: at(100),
    unit: 'ms',
  };
}

export const encode = (from: Histogram): string => encodeIntoCompressedBase64(from);

export function copyOf(from: Histogram): Histogram {
  const copy = histogram(from.numberOfSignificantValueDigits === 2 ? 2 : 3);
  merge(copy, from);
  return copy;
}

/** Copies the counts, because a decoded histogram cannot record values above its own maximum. */
export const decode = (text: string): Histogram => copyOf(decodeFromCompressedBase64(text, 32, false) as Histogram);

export const merge = (into: Histogram, from: Histogram): void => into.add(from as never);

export function addDurations(all: Map<string, Histogram>, name: string, times: Histogram): void {
  const held = all.get(name);
  if (held === undefined) all.set(name, copyOf(times));
  else merge(held, times);
}

export function difference(now: Histogram, before: Histogram): Histogram | undefined {
  if (before.totalCount > now.totalCount) return undefined;
  const rest = copyOf(now);
  rest.subtract(before as never);
  return rest;
}

export interface Recorder {
  time(name: DurationName, ms: number): void;
  count(name: CounterName, by?: number): void;
}

export interface Snapshot {
  histograms: Record<string, string>;
  counters: Record<string, number>;
}

const DISCARD: Recorder = { time: () => {}, count: () => {} };

export interface Labels {
  class?: string | undefined;
  phase?: string | undefined;
}

export function labelled(name: string, labels: Labels): string {
  const parts = (['class', 'phase'] as const).flatMap((key) =>
    labels[key] === undefined ? [] : [`${key}=${labels[key]}`],
  );
  return parts.length === 0 ? name : `${name}{${parts.join()}}`;
}

export const phaseLabel = (index: number, kind: string): string => `${index + 1}-${kind}`;

export function unlabelled(text: string): { name: string; labels?: Labels } {
  const start = text.indexOf('{');
  if (start < 0) return { name: text };
  const parts = text.slice(start + 1, -1).split(',');
  return { name: text.slice(0, start), labels: Object.fromEntries(parts.map((part) => part.split('='))) };
}

export const ofWhole = <T>(figures: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(figures).filter(([name]) => !name.includes('{')));

export const ofParts = <T>(figures: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(figures).filter(([name]) => name.includes('{')));

export class Metrics implements Recorder {
  readonly #whole = new Map<string, Histogram>();
  readonly #interval = new Map<string, Histogram>();
  readonly #counters = new Map<string, number>();
  #phase: string | undefined;
  #recorders = new Map<string | undefined, Recorder>();
  measuring = true;

  beginPhase(phase: string, measuring: boolean): void {
    this.#phase = phase;
    this.measuring = measuring;
    this.#recorders = new Map();
  }

  of(robotClass?: string): Recorder {
    if (!this.measuring) return DISCARD;
    const known = this.#recorders.get(robotClass);
    if (known !== undefined) return known;
    const made = this.#recorderOf({ class: robotClass, phase: this.#phase });
    this.#recorders.set(robotClass, made);
    return made;
  }

  #recorderOf(labels: Labels): Recorder {
    if (labelled('', labels) === '') return this;
    const names = new Map<string, string>();
    const own = (name: string): string => {
      const known = names.get(name);
      if (known !== undefined) return known;
      const made = labelled(name, labels);
      names.set(name, made);
      return made;
    };
    return {
      time: (name, ms) => {
        recordMs(this.#of(this.#whole, name, 3), ms);
        this.time(own(name), ms, 2);
      },
      count: (name, by) => {
        this.count(name, by);
        this.count(own(name), by);
      },
    };
  }

  time(name: string, ms: number, digits: 2 | 3 = 3): void {
    recordMs(this.#of(this.#whole, name, digits), ms);
    recordMs(this.#of(this.#interval, name, 2), ms);
  }

  count(name: string, by = 1): void {
    this.#counters.set(name, (this.#counters.get(name) ?? 0) + by);
  }

  snapshot(): Snapshot {
    return { histograms: encodeAll(this.#whole), counters: Object.fromEntries(this.#counters) };
  }

  /** Returns the durations since the last call, and the counters since the start. */
  takeInterval(): Snapshot {
    const histograms = encodeAll(this.#interval);
    this.#interval.clear();
    return { histograms, counters: Object.fromEntries(this.#counters) };
  }

  #of(map: Map<string, Histogram>, name: string, digits: 2 | 3): Histogram {
    const known = map.get(name);
    if (known !== undefined) return known;
    const made = histogram(digits);
    map.set(name, made);
    return made;
  }
}

export function encodeAll(map: Map<string, Histogram>): Record<string, string> {
  return Object.fromEntries(
    [...map].filter(([, from]) => from.totalCount > 0).map(([name, from]) => [name, encode(from)]),
  );
}

type Figures = Readonly<Partial<Record<string, number>>>;

export function combined(parts: Iterable<Figures>, by = (a: number, b: number) => a + b): Record<string, number> {
  const all: Record<string, number> = {};
  for (const part of parts) {
    for (const [name, value = 0] of Object.entries(part)) {
      const held = all[name];
      all[name] = held === undefined ? value : by(held, value);
    }
  }
  return all;
}

export function mergeSnapshots(parts: readonly Snapshot[]): Snapshot {
  const histograms = new Map<string, Histogram>();
  for (const [name, text] of parts.flatMap((part) => Object.entries(part.histograms)))
    addDurations(histograms, name, decode(text));
  const inOrder = <T>(figures: Iterable<[string, T]>) => [...figures].sort(([a], [b]) => (a < b ? -1 : 1));
  const counters = combined(parts.map((part) => part.counters));
  return {
    histograms: encodeAll(new Map(inOrder(histograms))),
    counters: Object.fromEntries(inOrder(Object.entries(counters))),
  };
}

export const summariesOf = ({ histograms }: Snapshot): Record<string, Summary> =>
  Object.fromEntries(Object.entries(histograms).map(([name, text]) => [name, summary(decode(text))]));
