/** What a fleet has done and measured so far. */
import type { PhaseOutcome } from '../host/host.ts';
import { type Snapshot, summariesOf } from '../measure/metrics.ts';
import type { FleetResult, Tick, Violation } from '../result/result.ts';
import { gradeRun } from '../result/verdict.ts';
import type { Phase } from '../scenario/scenario.ts';
import { monotonicMs } from '../schedule/scheduler.ts';
import { Progress } from './progress.ts';

/** The outcome of a phase over all hosts. */
export interface PhaseReport extends PhaseOutcome {
  do: Phase['do'];
  /** Milliseconds after the fleet was created. */
  startedMs: number;
  durationMs: number;
  measured: boolean;
}

/** The part of a result that follows from measurements. */
export type Measured = Pick<
  FleetResult,
  'metrics' | 'counters' | 'histograms' | 'verdict' | 'verdict_reasons' | 'measured_seconds'
>;

const MAX_LISTED = 100;
const MAX_ERRORS = 5;

export class FleetRecord {
  /** Reports of the phases that have ended. */
  readonly phases: PhaseReport[] = [];
  /** The first violations. */
  readonly violations: Violation[] = [];
  /** Names of the first robots that missed a roll-out. */
  readonly missed: string[] = [];
  /** Messages of the first different failures, over all phases and hosts. */
  readonly errors: string[] = [];
  /** Why the result is incomplete. */
  readonly incomplete: string[] = [];
  readonly progress = new Progress();
  /** Robots that did not come online. */
  notStarted = 0;
  /** Milliseconds that the ramp took. */
  startMs = 0;
  rssBytesPerRobot = 0;
  /** The current phase, `preparing` or `finishing`. */
  phase: string = 'preparing';
  readonly #began = monotonicMs();
  #phaseEpoch: number | undefined;

  /** Milliseconds since the fleet was created. */
  get elapsedMs(): number {
    return monotonicMs() - this.#began;
  }

  /** Milliseconds since the current phase began; 0 before the first. */
  get phaseElapsedMs(): number {
    return this.#phaseEpoch === undefined ? 0 : Math.max(0, monotonicMs() - this.#phaseEpoch);
  }

  /** Call at `epoch`, the start of a phase on the shared clock. */
  beginPhase(epoch: number): void {
    this.#phaseEpoch = epoch;
  }

  endPhase(phase: Phase, epoch: number, outcomes: readonly PhaseOutcome[]): PhaseReport {
    const report: PhaseReport = {
      do: phase.do,
      startedMs: epoch - this.#began,
      durationMs: monotonicMs() - epoch,
      measured: phase.measure !== false,
      actions: outcomes.reduce((sum, { actions }) => sum + actions, 0),
      notStarted: outcomes.reduce((sum, { notStarted }) => sum + notStarted, 0),
      rollouts: outcomes.flatMap(({ rollouts }) => rollouts),
      missed: outcomes.flatMap(({ missed }) => missed),
      trace: outcomes.flatMap(({ trace }) => trace),
      errors: outcomes.flatMap(({ errors }) => errors),
    };
    for (const error of report.errors) this.#addError(error);
    if (phase.do === 'ramp') this.startMs = report.durationMs;
    this.notStarted += report.notStarted;
    this.missed.push(...report.missed.slice(0, MAX_LISTED - this.missed.length));
    this.phases.push(report);
    return report;
  }

  addViolation(violation: Violation): void {
    if (this.violations.length < MAX_LISTED) this.violations.push(violation);
  }

  /** Closes a second. */
  second(robots: number): Tick {
    return this.progress.second(this.elapsedMs, this.phase, robots);
  }

  /** Grades what was measured. Without a snapshot, when no host can be asked any more, only counters remain. */
  measured(snapshot: Snapshot = { histograms: {}, counters: this.progress.counters }): Measured {
    const { histograms, counters } = snapshot;
    const metrics = summariesOf(snapshot);
    const { verdict, reasons } = gradeRun({
      lateness: metrics['schedule.lateness.ms'],
      samples: this.progress.samples,
      exhausted: counters['exhausted'] ?? 0,
    });
    const measured = this.phases.filter((phase) => phase.measured);
    const seconds = measured.reduce((sum, phase) => sum + phase.durationMs, 0) / 1000;
    return { metrics, counters, histograms, verdict, verdict_reasons: reasons, measured_seconds: seconds };
  }

  /** Keeps one of the failures that differ only in the robot. */
  #addError(text: string): void {
    const withoutRobot = (error: string): string => error.replace(/ of \S+: /, '');
    const known = this.errors.some((other) => withoutRobot(other) === withoutRobot(text));
    if (!known && this.errors.length < MAX_ERRORS) this.errors.push(text);
  }
}
