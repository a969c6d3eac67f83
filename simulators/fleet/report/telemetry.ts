/** Pushes figures of a running fleet, and traces of some roll-outs, by OpenTelemetry (OTLP). */
import {
  attributesOf,
  ERROR,
  KIND,
  muster,
  newId,
  type Send,
  type Span,
  spansMessage,
  unixNano,
  whyLost,
} from '../../../harness/common/otlp.ts';
import type { RolloutRow } from '../host/host.ts';
import { type TracedRollouts, traceOf } from '../host/traced.ts';
import type { FleetRecord } from '../run/record.ts';
import { type Exposed, type Sample, samplesOf } from './exposition.ts';
import { ROLLOUT_LEGS } from './plots.ts';

/**
 * Trace of one roll-out: a span from the POST to the event read, and one for each leg. `posted`: a time of
 * `performance.now()`.
 */
export function spansOf(traced: TracedRollouts, row: RolloutRow, posted: number, withinMs: number): Span[] {
  const { traceId, spanId } = traceOf(traced, row);
  const span = (id: string, name: string, from: number, until: number): Span => ({
    traceId,
    spanId: id,
    name,
    kind: KIND.internal,
    startTimeUnixNano: unixNano(posted + from),
    endTimeUnixNano: unixNano(posted + until),
    attributes: [],
    status: {},
  });
  const { total_ms: total, late_ms: late } = row;
  const about = {
    'muster.robot': row.name,
    'muster.phase': row.phase + 1,
    'muster.deployment': row.deployment_id ?? undefined,
  };
  const root = { ...span(spanId, 'roll-out', 0, total ?? late ?? withinMs), attributes: attributesOf(about) };
  if (total === null)
    root.status = {
      code: ERROR,
      message: late === null ? 'its event was not read in time' : 'its event was read too late',
    };
  let at = 0;
  const legs = ROLLOUT_LEGS.flatMap((leg) => {
    const ms = row[`${leg}_ms`];
    if (ms === null) return [];
    const from = at;
    at += ms;
    return [{ ...span(newId(8), leg, from, at), parentSpanId: spanId }];
  });
  return [root, ...legs];
}

const BATCH = 500;
const MOST_WAITING = 8;

export interface TelemetryOptions {
  send: Send;
  version: string;
  traced: TracedRollouts;
  labels: Readonly<Record<string, string | undefined>>;
  read(): { record: FleetRecord; exposed: Exposed };
}

/** Pushes every ten seconds and once more on close. A rejected message is lost. */
export class Telemetry {
  readonly #options: TelemetryOptions;
  readonly #began = performance.now();
  readonly #timer: NodeJS.Timeout;
  #pushing: Promise<void> = Promise.resolve();
  readonly #rounds: number[] = [];
  #waiting = 0;
  #lost = 0;
  #why: unknown;

  constructor(options: TelemetryOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#push(), 10_000).unref();
  }

  /**
   * Resolves with the number of lost messages and the reason, or undefined if all were accepted. Waits for a slow
   * collector for ten seconds at most.
   */
  async close(): Promise<string | undefined> {
    clearInterval(this.#timer);
    this.#push();
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, 10_000);
    await Promise.race([this.#pushing, late.promise]);
    clearTimeout(timer);
    const lost = this.#lost + this.#waiting;
    if (lost === 0) return undefined;
    const why = this.#why === undefined ? 'the collector was too slow' : whyLost(this.#why);
    return `--otlp: ${lost === 1 ? '1 message is' : `${lost} messages are`} lost: ${why}`;
  }

  #push(): void {
    const { version, read } = this.#options;
    const { record, exposed } = read();
    const spans = this.#newSpans(record);
    this.#post('metrics', () => this.#metrics(exposed));
    for (let from = 0; from < spans.length; from += BATCH)
      this.#post('traces', () => spansMessage(version, spans.slice(from, from + BATCH)));
  }

  /** Sends messages one after another; drops new ones while too many wait. */
  #post(signal: Parameters<Send>[0], message: () => object): void {
    if (this.#waiting >= MOST_WAITING) {
      this.#lost += 1;
      return;
    }
    this.#waiting += 1;
    const made = message();
    this.#pushing = this.#pushing
      .then(() => this.#options.send(signal, made))
      .catch((error: unknown) => {
        this.#lost += 1;
        this.#why ??= error;
      })
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  #newSpans(record: FleetRecord): Span[] {
    const { traced } = this.#options;
    const began = performance.now() - record.elapsedMs;
    const ended = record.phases.filter(({ rounds = 1 }, index) => this.#rounds[index] !== rounds);
    for (const [index, { rounds = 1 }] of record.phases.entries()) this.#rounds[index] = rounds;
    return ended.flatMap(({ rollouts, startedMs, withinMs = 0 }) =>
      rollouts
        .filter(({ robot }) => robot % traced.every === 0)
        .flatMap((row) => spansOf(traced, row, began + startedMs + row.at_ms, withinMs)),
    );
  }

  #metrics(exposed: Exposed): object {
    const { version, labels } = this.#options;
    const { tick } = exposed;
    const now = unixNano(performance.now());
    const start = unixNano(this.#began);
    const points = (samples: readonly Sample[]) =>
      samples.map(([value, own = {}]) => ({
        attributes: [...attributesOf(labels), ...attributesOf(own)],
        startTimeUnixNano: start,
        timeUnixNano: now,
        asDouble: value,
      }));
    const gauge = (name: string, unit: string, of: readonly Sample[]) => ({
      name,
      unit,
      gauge: { dataPoints: points(of) },
    });
    const sum = (name: string, of: readonly Sample[]) => ({
      name,
      unit: '1',
      sum: { dataPoints: points(of), isMonotonic: true, aggregationTemporality: CUMULATIVE },
    });
    const samples = samplesOf(exposed);
    const metrics = [
      gauge('muster.robots', '{robot}', samples.robots),
      gauge('muster.phase', '1', samples.phase),
      gauge('muster.duration', 'ms', samples.durations),
      sum('muster.events', samples.events),
      gauge('muster.part.duration', 'ms', samples.partDurations),
      sum('muster.part.events', samples.partEvents),
      gauge('muster.threshold.met', '1', samples.thresholds),
      gauge('muster.cpu', '{core}', tick === undefined ? [] : [[tick.cpu]]),
      gauge('muster.memory', 'By', tick === undefined ? [] : [[tick.rss_bytes]]),
    ];
    const { resource, scope } = muster(version);
    return { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] };
  }
}

/** AggregationTemporality of OTLP: since the start. */
const CUMULATIVE = 2;
