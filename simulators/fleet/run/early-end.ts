/** Ends a run before its time: one that is lost, or that does not pass the gate of a phase. */
import { durationMs, readableDuration } from '../../../harness/common/durations.ts';
import { thresholdValue } from '../report/report.ts';
import { evaluate, measuredIn, parseThreshold } from '../result/thresholds.ts';
import type { Phase } from '../scenario/scenario.ts';
import type { RunOptions } from './plan.ts';
import type { FleetRecord, Measured } from './record.ts';

/** Long enough that a burst of errors, or the first few samples, end no run. */
const DEFAULT_AFTER_MS = 30_000;

/** The beginning of the reason. */
export const ENDED_EARLY = 'ended early';

export class EarlyEnd {
  /** Aborts with the run's own, and when a condition has held for too long. */
  readonly signal: AbortSignal;
  readonly #lost = new AbortController();
  readonly #conditions: ReturnType<typeof parseThreshold>[];
  readonly #afterMs: number;
  /** Since when each condition has held, without a break. */
  readonly #since = new Map<string, number>();

  constructor({ scenario, abortOn = [], signal }: Pick<RunOptions, 'scenario' | 'abortOn' | 'signal'>) {
    const { abort_on = [], abort_after } = scenario;
    this.signal = AbortSignal.any([signal, this.#lost.signal]);
    this.#conditions = [...new Set([...abort_on, ...abortOn])].map(parseThreshold);
    this.#afterMs = abort_after === undefined ? DEFAULT_AFTER_MS : durationMs(abort_after);
  }

  /** Ends the run at once. `why`: for the record. */
  now(why: string, { incomplete }: Pick<FleetRecord, 'incomplete'>): void {
    if (this.signal.aborted) return;
    const reason = `${ENDED_EARLY}: ${why}`;
    incomplete.push(reason);
    this.#lost.abort(new Error(reason));
  }

  /** Looks at what stands; where the run is lost, the record gets the reason and the signal aborts. */
  look(record: Pick<FleetRecord, 'standing' | 'elapsedMs' | 'incomplete'>): void {
    if (this.signal.aborted || this.#conditions.length === 0) return;
    const { standing, elapsedMs, incomplete } = record;
    for (const condition of this.#conditions) {
      const { expr, ok } = evaluate(condition, standing);
      const since = ok ? (this.#since.get(expr) ?? elapsedMs) : undefined;
      if (since === undefined) this.#since.delete(expr);
      else this.#since.set(expr, since);
      if (since === undefined || elapsedMs - since < this.#afterMs) continue;
      const heldMs = Math.round((elapsedMs - since) / 1000) * 1000;
      this.now(`${expr} has held for ${readableDuration(heldMs)}`, { incomplete });
      return;
    }
  }
}

/** Why the run ends after this phase, by what was measured until then; undefined when it goes on. */
export function closedGate({ do: name, gate = [] }: Phase, measured: Measured): string | undefined {
  const standing = measuredIn(measured);
  const missed = gate.map((expr) => evaluate(parseThreshold(expr), standing)).find(({ ok }) => !ok);
  if (missed === undefined) return undefined;
  const is = missed.value === null ? `unknown: ${missed.reason}` : thresholdValue(missed.expr, missed.value);
  return `${ENDED_EARLY}: the gate after '${name}' asks for ${missed.expr}, and it is ${is}`;
}
