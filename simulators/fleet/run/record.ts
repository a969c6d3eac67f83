/** What a fleet has done and measured so far: phases, and what went wrong. */

import { defined } from '../../../harness/common/defined.ts';
import type { LateRollout, PhaseOutcome, RolloutRow } from '../host/host.ts';
import { processors } from '../measure/cgroup.ts';
import { phaseLabel, type Snapshot, type Summary, summariesOf } from '../measure/metrics.ts';
import { mergedRollouts } from '../result/merge.ts';
import type { FleetResult, Tick, Violation } from '../result/result.ts';
import { mapRollouts } from '../result/rollout-map.ts';
import { STARTING } from '../result/shards.ts';
import type { evaluate } from '../result/thresholds.ts';
import {
  type Disturbance,
  type DisturbanceKind,
  type Evidence,
  gradeDisturbances,
  gradeRun,
  type Verdict,
  worst,
} from '../result/verdict.ts';
import { type Phase, withinMs } from '../scenario/scenario.ts';
import { monotonicMs } from '../schedule/clock.ts';
import { Progress } from './progress.ts';

/** The outcome of a phase over all hosts. */
export interface PhaseReport extends PhaseOutcome {
  do: Phase['do'] | 'rollback';
  /** Milliseconds after the fleet was created. */
  startedMs: number;
  durationMs: number;
  /** Of the last time that it was carried out. */
  roundMs: number;
  measured: boolean;
  /** Of a roll-out: what arrives later has missed it. */
  withinMs?: number;
  /** What was done by hand, in words. */
  note?: string;
  /** It did not end by itself. */
  interrupted?: boolean;
  /** How often it was carried out, if more than once. What is counted and measured is that of all of them. */
  rounds?: number;
}

/** A phase that is under way. */
interface Running {
  phase: Phase;
  kind: PhaseReport['do'];
  /** Its place in the scenario. */
  index: number;
  /** Its start on the shared clock. */
  epoch: number;
}

/** The part of a result that follows from measurements. */
export type Measured = Pick<
  FleetResult,
  'metrics' | 'counters' | 'histograms' | 'verdict' | 'verdict_reasons' | 'measured_seconds' | 'phases'
>;

const MAX_LISTED = 100;
/** Reasons why a result is incomplete that end with the process. */
export const GOES_ON = 'the run goes on';
export const INTERRUPTED = 'the run was interrupted';
const PASSING = new RegExp(`^${GOES_ON}$|^${INTERRUPTED}$|robots (were not|did not come) online`);
const NO_ROLLOUTS: NonNullable<FleetResult['rollouts']> = { missed: [], map: { bands: 1, column_ms: 0, cells: [] } };
const MAX_ERRORS = 5;

/** What a fleet has done so far, over all its hosts. */
export class FleetRecord {
  /** Reports of the phases that have ended. */
  readonly phases: PhaseReport[] = [];
  /** Reports of what was done by hand, beside the phases of the scenario. */
  readonly byHand: PhaseReport[] = [];
  /** When the scenario waited because a person wanted it to, milliseconds after the fleet was created. */
  readonly pauses: { fromMs: number; untilMs?: number }[] = [];
  /** The first violations. */
  readonly violations: Violation[] = [];
  /** Names of the first robots that missed a roll-out. */
  readonly missed: string[] = [];
  /** Messages of the first different failures, over all phases and hosts. */
  readonly errors: string[] = [];
  /** Why the result is incomplete. */
  readonly incomplete: string[] = [];
  readonly progress = new Progress();
  /** Robots whose keys are there, by host. */
  readonly keysMade = new Map<string, number>();
  /** Robots that did not come online. */
  notStarted = 0;
  /** Milliseconds that the ramp took. */
  startMs = 0;
  rssBytesPerRobot = 0;
  /** Connections to the platform that each host may open. */
  connections: number | undefined;
  /** The current phase, `preparing` or `finishing`. */
  phase: string = STARTING;
  /** When the first phase began, ISO 8601. */
  phasesAt: string | undefined;
  /** The same moment, in milliseconds since the start of the fleet. */
  phasesBeginMs: number | undefined;
  readonly #disturbances = new Map<DisturbanceKind, string>();
  #began = monotonicMs();
  #interrupted = false;
  #running: Running | undefined;
  /** Robots of the whole fleet, over all shards. */
  fleetRobots = 1;
  /** What the scenario asks for at a rate. */
  rates: Evidence['rates'];
  /** What earlier processes of the run were graded: their load is not known any more. */
  #earlier: { verdict: Verdict; reasons: readonly string[] } = { verdict: 'valid', reasons: [] };
  /** The last measurements of all hosts, for the time when none can be asked. */
  #snapshot: Snapshot | undefined;
  /** Whether the robots of this process have started. */
  isUp = false;
  /** Of roll-outs whose rows are no longer kept. */
  #past: FleetResult['rollouts'];

  /** Milliseconds since the fleet was created. */
  get elapsedMs(): number {
    return monotonicMs() - this.#began;
  }

  /** Robots whose keys are there. */
  get keysReady(): number {
    return [...this.keysMade.values()].reduce((sum, robots) => sum + robots, 0);
  }

  /** Milliseconds since the current phase began; 0 before the first. */
  get phaseElapsedMs(): number {
    return this.#running === undefined ? 0 : Math.max(0, monotonicMs() - this.#running.epoch);
  }

  /** When the phase that is under way began, milliseconds after the fleet was created. */
  phaseStartedMs: number | undefined;

  /** The place in the scenario of the phase that is under way, or comes next. */
  get place(): number {
    return this.phaseStartedMs === undefined ? this.phases.length : (this.#running?.index ?? 0);
  }

  /** Call when a phase begins. */
  beginPhase(running: Running): void {
    this.phaseStartedMs = running.epoch - this.#began;
    this.#running = running;
  }

  /** Call when an interrupt ends the phase that is under way, if any: it stays in the result with what came of it. */
  interruptPhase(outcomes: readonly PhaseOutcome[]): void {
    if (this.#running === undefined || this.phaseStartedMs === undefined) return;
    const running = this.#running;
    // Robots that are not online are in the reasons why the result is incomplete.
    const known = outcomes.map((outcome) => ({ ...outcome, notStarted: 0 }));
    this.#add({ ...this.#report(running, known), interrupted: true }, running.index);
    this.phaseStartedMs = undefined;
    this.#interrupted = true;
  }

  endPhase(running: Running, outcomes: readonly PhaseOutcome[]): PhaseReport {
    const report = this.#report(running, outcomes);
    if (this.#interrupted) return report;
    if (report.do === 'ramp') {
      this.startMs = report.durationMs;
      this.isUp = true;
    }
    this.phaseStartedMs = undefined;
    this.addLate(outcomes.flatMap(({ late }) => late));
    this.#add(report, running.index);
    return report;
  }

  /** A phase that is carried out again is still one, so that a run of days takes no more room than its scenario. */
  #add(report: PhaseReport, index: number): void {
    const before = report.do === 'rollback' ? undefined : this.phases[index];
    this.phases[before === undefined ? this.phases.length : index] = report;
    if (before === undefined) return;
    this.#past = mergedRollouts([{ rollouts: this.#past ?? NO_ROLLOUTS }, { rollouts: this.#rolloutsOf([before]) }]);
    report.rounds = (before.rounds ?? 1) + 1;
    report.actions += before.actions;
    report.durationMs += before.durationMs;
    // The axis of time begins where the first robots started.
    if (report.do === 'ramp') report.startedMs = before.startedMs;
  }

  /** Call before the first phase: goes on with a run whose process has ended, of which that is the last result. */
  resume(last: FleetResult): void {
    const { started_at, phases_at, phases_begin_ms, rollouts, violations, missed, verdict, verdict_reasons } = last;
    this.#began = monotonicMs() - (Date.now() - Date.parse(started_at));
    this.phasesAt = phases_at;
    this.phasesBeginMs = phases_begin_ms;
    this.violations.push(...violations);
    this.missed.push(...missed);
    this.incomplete.push(...last.incomplete_reasons.filter((reason) => !PASSING.test(reason)));
    this.#earlier = { verdict, reasons: verdict_reasons };
    this.#past = rollouts;
    const nothing = { notStarted: 0, rollouts: [], missed: [], trace: [], errors: [], late: [] };
    for (const { do: kind, started_ms: startedMs, duration_ms: durationMs, ...told } of last.phases) {
      const { measured, actions, within_ms: withinMs, rounds, by_hand: note } = told;
      const known = { do: kind as PhaseReport['do'], startedMs, durationMs, roundMs: durationMs, measured, actions };
      const report = { ...nothing, ...known, ...defined({ withinMs, rounds, note }) };
      (note === undefined ? this.phases : this.byHand).push(report);
    }
    const { histograms, counters, series } = last;
    this.#snapshot = { histograms, counters };
    this.progress.resume(this.#snapshot, series);
  }

  /** Call when something that was done by hand at `epoch` has ended. `note`: what it was, in words. */
  endByHand(phase: Phase, epoch: number, outcomes: readonly PhaseOutcome[], note: string): PhaseReport {
    const report = { ...this.#report({ phase, kind: phase.do, epoch }, outcomes), measured: false, note };
    this.byHand.push(report);
    return report;
  }

  #report({ phase, kind, epoch }: Omit<Running, 'index'>, outcomes: readonly PhaseOutcome[]): PhaseReport {
    const report: PhaseReport = {
      do: kind,
      startedMs: epoch - this.#began,
      durationMs: monotonicMs() - epoch,
      roundMs: monotonicMs() - epoch,
      measured: phase.measure !== false,
      actions: outcomes.reduce((sum, { actions }) => sum + actions, 0),
      notStarted: outcomes.reduce((sum, { notStarted }) => sum + notStarted, 0),
      rollouts: outcomes.flatMap(({ rollouts }) => rollouts),
      missed: outcomes.flatMap(({ missed }) => missed),
      trace: outcomes.flatMap(({ trace }) => trace),
      errors: outcomes.flatMap(({ errors }) => errors),
      late: [],
      ...(phase.do === 'rollout' && { withinMs: withinMs(phase) }),
    };
    for (const error of report.errors) this.#addError(error);
    this.notStarted += report.notStarted;
    this.missed.push(...report.missed.slice(0, MAX_LISTED - this.missed.length));
    return report;
  }

  /** All that was done, as the result tells it: first the phases of the scenario. */
  #toldOf(phases: readonly PhaseReport[]): FleetResult['phases'] {
    return [...phases, ...this.byHand].map((phase) =>
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
  }

  /** Fills in roll-outs that arrived after their phase had ended. */
  addLate(late: readonly LateRollout[]): void {
    const byId = new Map(late.map(({ deployment_id, late_ms }) => [deployment_id, late_ms]));
    for (const row of this.missedRows()) row.late_ms ??= byId.get(row.deployment_id ?? '') ?? null;
  }

  /** The roll-outs that did not arrive in time. */
  missedRows(): RolloutRow[] {
    return this.phases.flatMap(({ rollouts }) =>
      rollouts.filter(({ total_ms, open }) => total_ms === null && open !== true),
    );
  }

  /** What became of single roll-outs. */
  get rollouts(): NonNullable<FleetResult['rollouts']> {
    const now = this.#rolloutsOf(this.phases);
    return mergedRollouts([{ rollouts: this.#past ?? NO_ROLLOUTS }, { rollouts: now }]) ?? now;
  }

  #rolloutsOf(phases: readonly PhaseReport[]): NonNullable<FleetResult['rollouts']> {
    const start = this.phases[0]?.startedMs ?? 0;
    const rows = phases.flatMap(({ rollouts, startedMs }) =>
      rollouts.map((row) => ({ ...row, posted_ms: startedMs - start + row.at_ms })),
    );
    const missed = rows.filter(({ total_ms, open }) => total_ms === null && open !== true).slice(0, MAX_LISTED);
    return {
      missed: missed.map(({ name, posted_ms, late_ms }) => ({ name, posted_ms: Math.round(posted_ms), late_ms })),
      map: mapRollouts(rows, this.fleetRobots),
    };
  }

  /** What thresholds are compared with while the run goes on. */
  get standing(): Parameters<typeof evaluate>[1] {
    const { progress } = this;
    const phases = [...this.#phasesSoFar()];
    return {
      metrics: progress.summaries(),
      counters: progress.counters,
      times: (name) => progress.times(name),
      measuredSeconds: phases.reduce((sum, { seconds }) => sum + seconds, 0),
      phases,
    };
  }

  *#phasesSoFar(): Generator<{ label: string; seconds: number }> {
    for (const [index, { do: kind, measured, durationMs }] of this.phases.entries())
      if (measured) yield { label: phaseLabel(index, kind), seconds: durationMs / 1000 };
    const running = this.phaseStartedMs === undefined ? undefined : this.#running;
    if (running !== undefined && running.phase.measure !== false)
      yield { label: phaseLabel(running.index, running.kind), seconds: this.phaseElapsedMs / 1000 };
  }

  addViolation(violation: Violation): void {
    if (this.violations.length < MAX_LISTED) this.violations.push(violation);
  }

  addDisturbance({ kind, message }: Disturbance): void {
    if (!this.#disturbances.has(kind)) this.#disturbances.set(kind, message);
  }

  /** Closes a second. */
  second(robots: number): Tick {
    return this.progress.second(this.elapsedMs, this.phase, robots);
  }

  /**
   * Grades what was measured. Without a snapshot, when no host can be asked any more, the counters are those of the
   * last second, and durations are those of the last snapshot.
   */
  measured(snapshot: Snapshot = { histograms: {}, ...this.#snapshot, counters: this.progress.counters }): Measured {
    this.#snapshot = snapshot;
    const { histograms, counters } = snapshot;
    const metrics = summariesOf(snapshot);
    const { verdict, reasons } = this.#graded(metrics, counters);
    const phases = this.#toldOf(this.#soFar);
    const seconds = phases.reduce((sum, { measured, duration_ms: ms }) => sum + (measured ? ms / 1000 : 0), 0);
    return { metrics, counters, histograms, verdict, verdict_reasons: reasons, measured_seconds: seconds, phases };
  }

  /** With the time of the phase that is under way. */
  get #soFar(): PhaseReport[] {
    const running = this.phaseStartedMs === undefined ? undefined : this.#running;
    if (running === undefined) return this.phases;
    const known = this.phases[running.index];
    if (known === undefined) return [...this.phases, this.#report(running, [])];
    const durationMs = known.durationMs + this.phaseElapsedMs;
    return this.phases.map((phase) => (phase === known ? { ...known, durationMs } : phase));
  }

  /** What the verdict would be if the run ended now, and what it may still come to. */
  get verdictSoFar(): ReturnType<typeof gradeRun> {
    return this.#graded(this.progress.summaries(), this.progress.counters);
  }

  #graded(metrics: Record<string, Summary>, counters: Record<string, number>): ReturnType<typeof gradeRun> {
    const { connections, progress } = this;
    const { samples, robots, judgedSeconds: seconds } = progress;
    const machine = { connections, robots, cores: processors() };
    const generator = gradeRun({ metrics, counters, samples, seconds, ...machine, ...defined({ rates: this.rates }) });
    const disturbed = gradeDisturbances(counters, this.#disturbances);
    const { verdict, reasons } = this.#earlier;
    return {
      verdict: worst([verdict, generator.verdict, disturbed.verdict]),
      reasons: withEarlier(reasons, [...generator.reasons, ...disturbed.reasons]),
      atBest: worst([verdict, generator.atBest, disturbed.atBest]),
    };
  }

  /** Keeps one of the failures that differ only in the robot. */
  #addError(text: string): void {
    const withoutRobot = (error: string): string => error.replace(/ of \S+: /, '');
    const known = this.errors.some((other) => withoutRobot(other) === withoutRobot(text));
    if (!known && this.errors.length < MAX_ERRORS) this.errors.push(text);
  }
}

const ADVICE = /^(use|raise|ask for|as busy as it is|this machine (carries|was busy))\b/;
/** A number with its unit, but not that of a worker. */
const FIGURE = /(?<!worker )\b\d[\d.,]*(?: ?(?:%|[µm]?s\b|min\b|h\b))?/g;
const EXAMPLE = /, the first with: .*$/s;

/**
 * What earlier processes of the run were graded for, and what stands now: of one kind what stands now, since figures go
 * on from process to process, and one piece of advice.
 */
function withEarlier(earlier: readonly string[], now: readonly string[]): string[] {
  const kindOf = (reason: string): string =>
    ADVICE.test(reason)
      ? 'advice'
      : reason
          .replace(EXAMPLE, '')
          .replaceAll(FIGURE, '#')
          .replaceAll(/#(?: #)+/g, '#');
  const kinds = new Set(now.map(kindOf));
  const others = earlier.filter((reason) => !kinds.has(kindOf(reason)));
  // The same with an example, which this process does not know.
  const fuller = now.map((reason) => earlier.find((known) => known.startsWith(`${reason}, `)) ?? reason);
  return [...new Set([...others, ...fuller])];
}
