/** Ends a run early if recent figures meet an abort condition, or if a phase fails a condition of its gate. */

import type { Histogram } from 'hdr-histogram-js';
import { durationMs, readableDuration } from '../../../harness/common/units.ts';
import { copyOf, difference, phaseLabel, summary, unlabelled } from '../measure/metrics.ts';
import { thresholdValue } from '../report/report.ts';
import {
  evaluate,
  measuredIn,
  parseThreshold,
  type Measured as Standing,
  type Threshold,
} from '../result/thresholds.ts';
import type { Phase } from '../scenario/scenario.ts';
import type { RunOptions } from './fleet.ts';
import type { FleetRecord, Measured } from './record.ts';

const ENDED_EARLY = 'ended early';

export class EarlyEnd {
  readonly signal: AbortSignal;
  readonly #lost = new AbortController();
  readonly #conditions: Threshold[];
  readonly #afterMs: number;
  readonly #window: Window;

  constructor({ scenario, abortOn = [], signal }: Pick<RunOptions, 'scenario' | 'abortOn' | 'signal'>) {
    // Waits 30 s by default, so that a short burst of errors does not end the run.
    const { abort_on = [], abort_after = '30s' } = scenario;
    this.signal = AbortSignal.any([signal, this.#lost.signal]);
    this.#conditions = [...new Set([...abort_on, ...abortOn])].map(parseThreshold);
    this.#afterMs = durationMs(abort_after);
    this.#window = new Window(this.#afterMs, this.#conditions);
  }

  now(why: string, { incomplete }: Pick<FleetRecord, 'incomplete'>): void {
    if (this.signal.aborted) return;
    const reason = `${ENDED_EARLY}: ${why}`;
    incomplete.push(reason);
    this.#lost.abort(new Error(reason));
  }

  /** Call about once a second, from before the first phase; aborts `signal` when an abort condition holds. */
  look(record: Pick<FleetRecord, 'standing' | 'elapsedMs' | 'incomplete' | 'endedBy'>): void {
    if (this.signal.aborted || this.#conditions.length === 0) return;
    const { standing, elapsedMs, incomplete } = record;
    const recent = this.#window.push(standing, elapsedMs);
    if (recent === undefined) return;
    for (const condition of this.#conditions) {
      const { expr, ok, value } = evaluate(condition, recent.whole);
      // Rates, maxima and percentiles must hold in both halves of the window, because a burst spoils only one.
      const lasts = condition.statistic === 'count' || recent.halves.every((half) => evaluate(condition, half).ok);
      if (!ok || !lasts) continue;
      const time = readableDuration(this.#afterMs);
      record.endedBy = expr;
      this.now(`${expr} held in the last ${time}: it was ${thresholdValue(expr, value)}`, { incomplete });
      return;
    }
  }
}

/** Minimum milliseconds between two marks (copies of the figures), to limit the memory of a window. */
const STEP_MS = 1000;
const MOST_MARKS = 30;
const SLACK = 0.25;

interface Mark {
  atMs: number;
  counters: Record<string, number>;
  times: Map<string, Histogram>;
  seconds: Map<string, number>;
}

class Window {
  readonly #widthMs: number;
  readonly #stepMs: number;
  readonly #durations: ReadonlySet<string>;
  readonly #marks: Mark[] = [];

  constructor(widthMs: number, conditions: readonly Threshold[]) {
    this.#widthMs = widthMs;
    this.#stepMs = Math.max(STEP_MS, widthMs / MOST_MARKS);
    this.#durations = new Set(conditions.map(({ metric }) => metric));
  }

  /** Returns undefined until the window is full. `halves`: older half first, or the whole of a short window. */
  push(standing: Standing, atMs: number): { whole: Standing; halves: Standing[] } | undefined {
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

  #markOf({ metrics, counters, times, phases }: Standing, atMs: number): Mark {
    const newest = this.#marks.at(-1)?.times;
    const kept = new Map<string, Histogram>();
    for (const [key, { count }] of Object.entries(metrics)) {
      if (!this.#durations.has(unlabelled(key).name)) continue;
      const known = newest?.get(key);
      const all = times(key);
      if (known?.totalCount === count) kept.set(key, known);
      else if (all !== undefined) kept.set(key, copyOf(all));
    }
    const seconds = new Map(phases.map(({ label, seconds: of }) => [label, of]));
    return { atMs, counters: { ...counters }, times: kept, seconds };
  }
}

function between(then: Mark, now: Mark): Standing {
  const times = new Map(
    [...now.times].flatMap(([key, all]) => {
      const before = then.times.get(key);
      const more = before === undefined ? all : difference(all, before);
      return more === undefined ? [] : [[key, more] as const];
    }),
  );
  const phases = [...now.seconds].map(([label, seconds]) => ({
    label,
    seconds: Math.max(0, seconds - (then.seconds.get(label) ?? 0)),
  }));
  const counters = Object.entries(now.counters).map(
    ([name, count]) => [name, count - (then.counters[name] ?? 0)] as const,
  );
  return {
    metrics: Object.fromEntries([...times].map(([key, more]) => [key, summary(more)])),
    counters: Object.fromEntries(counters),
    times: (name) => times.get(name),
    measuredSeconds: phases.reduce((sum, { seconds }) => sum + seconds, 0),
    phases,
  };
}

export function judgedAlone({ shard, scenario, abortOn = [] }: RunOptions): string | undefined {
  const has = [
    ...(scenario.phases.some(({ gate = [] }) => gate.length > 0) ? ['gates'] : []),
    ...((scenario.abort_on ?? []).length + abortOn.length > 0 ? ['abort_on'] : []),
  ];
  if (shard === undefined || shard.count < 2 || has.length === 0) return undefined;
  return `shard ${shard.index}/${shard.count} judges ${has.join(' and ')} by its own robots alone: others may go on`;
}

/** Reason why the run must end after a phase, or undefined. `endedBy`: the failed condition, if measured. */
export function closedGate({ do: kind, gate = [] }: Phase, index: number, measured: Measured) {
  const standing = measuredIn(measured);
  const missed = gate.map((expr) => evaluate(parseThreshold(expr), standing)).find(({ ok }) => !ok);
  if (missed === undefined) return undefined;
  const is = missed.value === null ? `unknown: ${missed.reason}` : thresholdValue(missed.expr, missed.value);
  const after = `the gate after phase ${phaseLabel(index, kind)}`;
  const why = `${ENDED_EARLY}: ${after} asks for ${missed.expr}, and it is ${is}`;
  return { why, endedBy: missed.value === null ? undefined : missed.expr };
}
