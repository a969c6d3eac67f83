/** Ends a run early: one that is lost, or that fails the gate of a phase. */
import { durationMs, readableDuration } from '../../../harness/common/durations.ts';
import { phaseLabel } from '../measure/metrics.ts';
import { thresholdValue } from '../report/report.ts';
import { evaluate, measuredIn, parseThreshold, type Threshold } from '../result/thresholds.ts';
import type { Phase } from '../scenario/scenario.ts';
import type { RunOptions } from './plan.ts';
import type { FleetRecord, Measured } from './record.ts';
import { Window } from './window.ts';

/** Default window, long enough that a burst of errors ends no run. */
const DEFAULT_AFTER_MS = 30_000;

export const ENDED_EARLY = 'ended early';

export class EarlyEnd {
  readonly signal: AbortSignal;
  readonly #lost = new AbortController();
  readonly #conditions: Threshold[];
  readonly #afterMs: number;
  readonly #window: Window;

  constructor({ scenario, abortOn = [], signal }: Pick<RunOptions, 'scenario' | 'abortOn' | 'signal'>) {
    const { abort_on = [], abort_after } = scenario;
    this.signal = AbortSignal.any([signal, this.#lost.signal]);
    this.#conditions = [...new Set([...abort_on, ...abortOn])].map(parseThreshold);
    this.#afterMs = abort_after === undefined ? DEFAULT_AFTER_MS : durationMs(abort_after);
    this.#window = new Window(this.#afterMs, this.#conditions);
  }

  now(why: string, { incomplete }: Pick<FleetRecord, 'incomplete'>): void {
    if (this.signal.aborted) return;
    const reason = `${ENDED_EARLY}: ${why}`;
    incomplete.push(reason);
    this.#lost.abort(new Error(reason));
  }

  /**
   * Call about once a second, first before any measurement. Aborts the signal and records the reason when a condition
   * holds over the window; older measurements do not count.
   */
  look(record: Pick<FleetRecord, 'standing' | 'elapsedMs' | 'incomplete' | 'endedBy'>): void {
    if (this.signal.aborted || this.#conditions.length === 0) return;
    const { standing, elapsedMs, incomplete } = record;
    const recent = this.#window.push(standing, elapsedMs);
    if (recent === undefined) return;
    for (const condition of this.#conditions) {
      const { expr, ok, value } = evaluate(condition, recent.whole);
      // Rates and percentiles must hold in both halves, because a burst spoils a few samples; counts add up.
      const lasts = condition.statistic === 'count' || recent.halves.every((half) => evaluate(condition, half).ok);
      if (!ok || !lasts) continue;
      const time = readableDuration(this.#afterMs);
      record.endedBy = expr;
      this.now(`${expr} held in the last ${time}: it was ${thresholdValue(expr, value)}`, { incomplete });
      return;
    }
  }
}

/** Warning that a shard judges gates and conditions by its own robots; undefined without either, and without shards. */
export function judgedAlone({ shard, scenario, abortOn = [] }: RunOptions): string | undefined {
  const has = [
    ...(scenario.phases.some(({ gate = [] }) => gate.length > 0) ? ['gates'] : []),
    ...((scenario.abort_on ?? []).length + abortOn.length > 0 ? ['abort_on'] : []),
  ];
  if (shard === undefined || shard.count < 2 || has.length === 0) return undefined;
  return `shard ${shard.index}/${shard.count} judges ${has.join(' and ')} by its own robots alone: others may go on`;
}

/**
 * Reason to end the run after this phase, from all measurements so far, and the condition that does not hold if it was
 * measured; undefined to go on. `index`: place in the scenario.
 */
export function closedGate(
  { do: kind, gate = [] }: Phase,
  index: number,
  measured: Measured,
): { why: string; endedBy: string | undefined } | undefined {
  const standing = measuredIn(measured);
  const missed = gate.map((expr) => evaluate(parseThreshold(expr), standing)).find(({ ok }) => !ok);
  if (missed === undefined) return undefined;
  const is = missed.value === null ? `unknown: ${missed.reason}` : thresholdValue(missed.expr, missed.value);
  const after = `the gate after phase ${phaseLabel(index, kind)}`;
  const why = `${ENDED_EARLY}: ${after} asks for ${missed.expr}, and it is ${is}`;
  return { why, endedBy: missed.value === null ? undefined : missed.expr };
}
