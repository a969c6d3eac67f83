import { availableParallelism } from 'node:os';
import { defined } from '../../../harness/common/defined.ts';
import { phaseLabel, type Snapshot, type Summary, summariesOf } from '../measure/metrics.ts';
import type { FleetResult, Tick, Violation } from '../result/result.ts';
import { STARTING } from '../result/shards.ts';
import type { Measured as Standing } from '../result/thresholds.ts';
import {
  type Disturbance,
  type DisturbanceKind,
  type Evidence,
  gradeDisturbances,
  gradeRun,
  worst,
} from '../result/verdict.ts';
import { type Phase, withinMs } from '../scenario/scenario.ts';
import { monotonicMs } from '../schedule/schedule.ts';
import {
  addFailure,
  type FailedAction,
  type LateRollout,
  type PhaseOutcome,
  type RolloutRow,
} from '../worker/worker.ts';
import { Progress } from './progress.ts';

export interface PhaseReport extends PhaseOutcome {
  do: Phase['do'];
  /** Milliseconds since the fleet was created. */
  startedMs: number;
  durationMs: number;
  roundMs: number;
  measured: boolean;
  withinMs?: number;
  note?: string;
  interrupted?: boolean;
  /** Number of passes through the phase, if more than one; `actions` and `durationMs` cover all passes. */
  rounds?: number;
}

interface Running {
  phase: Phase;
  index: number;
  epoch: number;
}

export type Measured = Pick<
  FleetResult,
  'metrics' | 'counters' | 'histograms' | 'verdict' | 'verdict_reasons' | 'measured_seconds' | 'phases'
>;

const MAX_LISTED = 100;

export class FleetRecord {
  readonly phases: PhaseReport[] = [];
  readonly byHand: PhaseReport[] = [];
  readonly pauses: { fromMs: number; untilMs?: number }[] = [];
  readonly violations: Violation[] = [];
  readonly missed: string[] = [];
  readonly failures: FailedAction[] = [];
  endedBy: string | undefined;
  readonly incomplete: string[] = [];
  readonly progress = new Progress();
  readonly keysMade = new Map<string, number>();
  notStarted = 0;
  startMs = 0;
  rssBytesPerRobot = 0;
  connections = 0;
  phase: string = STARTING;
  /** Start of the first phase, ISO 8601. */
  phasesAt: string | undefined;
  /** Start of the first phase, milliseconds since the fleet was created. */
  phasesBeginMs: number | undefined;
  readonly #disturbances = new Map<DisturbanceKind, string>();
  readonly #began = monotonicMs();
  #interrupted = false;
  #running: Running | undefined;
  rates: Evidence['rates'] = { fields: [], part: 1 };
  isUp = false;
  /** Missed roll-outs of earlier passes; `phases` keeps only those of the last pass. */
  #past: FleetResult['rollouts']['missed'] = [];

  get elapsedMs(): number {
    return monotonicMs() - this.#began;
  }

  get keysReady(): number {
    return [...this.keysMade.values()].reduce((sum, robots) => sum + robots, 0);
  }

  get phaseElapsedMs(): number {
    return this.#running === undefined ? 0 : Math.max(0, monotonicMs() - this.#running.epoch);
  }

  get phaseStartedMs(): number | undefined {
    return this.#running && this.#running.epoch - this.#began;
  }

  /** Index in the scenario of the running phase, or of the next phase between two phases. */
  get place(): number {
    return this.#running?.index ?? this.phases.length;
  }

  beginPhase(running: Running): void {
    this.#running = running;
  }

  interruptPhase(outcomes: readonly PhaseOutcome[]): void {
    this.addLate(outcomes.flatMap(({ late }) => late));
    const running = this.#running;
    if (running === undefined) return;
    // Sets `notStarted` to 0, because an interrupted run has its own reason for robots that are not online.
    const known = outcomes.map((outcome) => ({ ...outcome, notStarted: 0 }));
    this.#add({ ...this.#report(running, known), interrupted: true }, running.index);
    this.#running = undefined;
    this.#interrupted = true;
  }

  endPhase(running: Running, outcomes: readonly PhaseOutcome[]): PhaseReport {
    this.addLate(outcomes.flatMap(({ late }) => late));
    const report = this.#report(running, outcomes);
    if (this.#interrupted) return report;
    if (report.do === 'ramp') {
      this.startMs = report.durationMs;
      this.isUp = true;
    }
    this.#running = undefined;
    this.#add(report, running.index);
    return report;
  }

  /** Merges repeated passes, so that the memory does not grow in a long run. */
  #add(report: PhaseReport, index: number): void {
    const before = this.phases[index];
    this.phases[before === undefined ? this.phases.length : index] = report;
    if (before === undefined) return;
    this.#past = [...this.#past, ...this.#missedIn([before])].slice(0, MAX_LISTED);
    report.rounds = (before.rounds ?? 1) + 1;
    report.actions += before.actions;
    report.durationMs += before.durationMs;
  }

  endByHand(phase: Phase, epoch: number, outcomes: readonly PhaseOutcome[], note: string): PhaseReport {
    this.addLate(outcomes.flatMap(({ late }) => late));
    const report = { ...this.#report({ phase, epoch }, outcomes), measured: false, note };
    this.byHand.push(report);
    return report;
  }

  #report({ phase, epoch }: Omit<Running, 'index'>, outcomes: readonly PhaseOutcome[]): PhaseReport {
    const durationMs = Math.max(0, monotonicMs() - epoch);
    const report: PhaseReport = {
      do: phase.do,
      startedMs: epoch - this.#began,
      durationMs,
      roundMs: durationMs,
      measured: phase.measure !== false,
      actions: outcomes.reduce((sum, { actions }) => sum + actions, 0),
      notStarted: outcomes.reduce((sum, { notStarted }) => sum + notStarted, 0),
      rollouts: outcomes.flatMap(({ rollouts }) => rollouts),
      missed: outcomes.flatMap(({ missed }) => missed),
      failures: outcomes.flatMap(({ failures }) => failures),
      late: [],
      ...(phase.do === 'rollout' && { withinMs: withinMs(phase) }),
    };
    for (const failure of report.failures) addFailure(this.failures, failure);
    this.notStarted += report.notStarted;
    if (report.measured) this.missed.push(...report.missed.slice(0, MAX_LISTED - this.missed.length));
    return report;
  }

  addLate(late: readonly LateRollout[]): void {
    const byId = new Map(late.map(({ deployment_id, late_ms }) => [deployment_id, late_ms]));
    for (const row of this.missedRows()) row.late_ms ??= byId.get(row.deployment_id ?? '') ?? null;
  }

  missedRows(phases = this.phases): RolloutRow[] {
    return phases.flatMap(({ rollouts }) => rollouts.filter(isMissed));
  }

  get rollouts(): FleetResult['rollouts'] {
    return { missed: [...this.#past, ...this.#missedIn(this.phases)].slice(0, MAX_LISTED) };
  }

  #missedIn(phases: readonly PhaseReport[]): FleetResult['rollouts']['missed'] {
    const start = this.phases[0]?.startedMs ?? 0;
    return phases.flatMap(({ rollouts, startedMs, measured }) =>
      rollouts
        .filter((row) => measured && isMissed(row))
        .map(({ name, at_ms, late_ms }) => ({ name, posted_ms: Math.round(startedMs - start + at_ms), late_ms })),
    );
  }

  get standing(): Standing {
    const { progress } = this;
    const phases = this.#soFar.flatMap(({ do: kind, measured, durationMs }, index) =>
      measured ? [{ label: phaseLabel(index, kind), seconds: durationMs / 1000 }] : [],
    );
    return {
      metrics: progress.summaries(),
      counters: progress.counters,
      times: (name) => progress.times(name),
      measuredSeconds: phases.reduce((sum, { seconds }) => sum + seconds, 0),
      phases,
    };
  }

  addViolation(violation: Violation): void {
    if (this.violations.length < MAX_LISTED) this.violations.push(violation);
  }

  addDisturbance({ kind, message }: Disturbance): void {
    if (!this.#disturbances.has(kind)) this.#disturbances.set(kind, message);
  }

  second(robots: number): Tick {
    return this.progress.second(this.elapsedMs, this.phase, robots);
  }

  /** Figures so far. `snapshot`: of the workers, to three digits. Default: sums of their reports, to two digits. */
  measured(snapshot: Snapshot = this.progress.snapshot): Measured {
    const { histograms, counters } = snapshot;
    const metrics = summariesOf(snapshot);
    const { verdict, reasons } = this.#graded(metrics, counters);
    // Phases that a user started come last, so that all others keep their index in the scenario.
    const phases = [...this.#soFar, ...this.byHand].map((phase) =>
      defined({
        do: phase.do,
        started_ms: Math.round(phase.startedMs),
        duration_ms: Math.round(phase.durationMs),
        measured: phase.measured,
        actions: phase.actions,
        within_ms: phase.withinMs,
        interrupted: phase.interrupted,
        rounds: phase.rounds,
        by_hand: phase.note,
      }),
    );
    const seconds = phases.reduce((sum, { measured, duration_ms: ms }) => sum + (measured ? ms / 1000 : 0), 0);
    return { metrics, counters, histograms, verdict, verdict_reasons: reasons, measured_seconds: seconds, phases };
  }

  get #soFar(): PhaseReport[] {
    const running = this.#running;
    if (running === undefined) return this.phases;
    const known = this.phases[running.index];
    if (known === undefined) return [...this.phases, this.#report(running, [])];
    const durationMs = known.durationMs + this.phaseElapsedMs;
    return this.phases.with(running.index, { ...known, durationMs });
  }

  get verdictSoFar(): ReturnType<typeof gradeRun> {
    return this.#graded(this.progress.summaries(), this.progress.counters);
  }

  #graded(metrics: Record<string, Summary>, counters: Record<string, number>): ReturnType<typeof gradeRun> {
    const { connections, rates, progress } = this;
    const { samples, robots, judgedSeconds: seconds } = progress;
    const cores = availableParallelism();
    const generator = gradeRun({ metrics, counters, samples, seconds, connections, robots, cores, rates });
    const disturbed = gradeDisturbances(counters, this.#disturbances);
    return {
      verdict: worst([generator.verdict, disturbed.verdict]),
      reasons: [...generator.reasons, ...disturbed.reasons],
      atBest: worst([generator.atBest, disturbed.atBest]),
    };
  }
}

const isMissed = ({ total_ms, open }: RolloutRow): boolean => total_ms === null && open !== true;
