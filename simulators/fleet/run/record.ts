/** The seconds of a run, put together from the ticks of its hosts. */

import { defined } from '../../../harness/common/defined.ts';
import type { HostTick, LateRollout, PhaseOutcome, RolloutRow } from '../host/host.ts';
import { processors } from '../measure/cgroup.ts';
import {
  combined,
  decode,
  histogram,
  labelled,
  merge,
  phaseLabel,
  type Snapshot,
  type Summary,
  summariesOf,
  summary,
  unlabelled,
} from '../measure/metrics.ts';
import type { LoadSample } from '../measure/saturation.ts';
import type { FleetResult, Tick, Violation } from '../result/result.ts';
import { mapRollouts } from '../result/rollout-map.ts';
import { STARTING } from '../result/shards.ts';
import type { evaluate } from '../result/thresholds.ts';
import { type Disturbance, type DisturbanceKind, gradeDisturbances, gradeRun, worst } from '../result/verdict.ts';
import { type Phase, withinMs } from '../scenario/scenario.ts';
import { monotonicMs } from '../schedule/clock.ts';

/** Counters shown as rates. */
const RATED = /^(sse\.events|.*\.attempts|.*\.errors|rollout\.missed)$/;
/** Durations shown as curves, also for each class of robots. */
const CURVES = ['rollout.ms', 'ping.ms', 'http.ms', 'sync.ms', 'connect.ms', 'reconnect.ms', 'schedule.lateness.ms'];

/** The seconds of a run, put together from the ticks of its hosts. */
export class Progress {
  readonly #latest = new Map<string, HostTick>();
  /** Ticks since the last closed second. */
  #fresh: { host: string; tick: HostTick }[] = [];
  #counters: Record<string, number> = {};
  #lastAt = 0;
  readonly #whole = new Map<string, ReturnType<typeof histogram>>();
  /** Of what has not changed since. */
  readonly #summaries = new Map<string, Summary>();
  readonly series: Tick[] = [];
  /** The load of each host in the seconds that are judged, by name. */
  readonly samples = new Map<string, LoadSample[]>();

  add(host: string, tick: HostTick): void {
    this.#latest.set(host, tick);
    this.#fresh.push({ host, tick });
    for (const [key, text] of Object.entries(tick.interval.histograms)) {
      const times = decode(text);
      // What belongs to a part of the run belongs to the whole of it.
      for (const name of new Set([key, unlabelled(key).name])) {
        const whole = this.#whole.get(name) ?? histogram(2);
        merge(whole, times);
        this.#whole.set(name, whole);
        this.#summaries.delete(name);
      }
    }
    if (!tick.judged) return;
    const samples = this.samples.get(host) ?? [];
    samples.push(tick.load);
    this.samples.set(host, samples);
  }

  /** Counters summed over the latest ticks of all hosts. */
  get counters(): Record<string, number> {
    return combined([...this.#latest.values()].map(({ interval }) => interval.counters));
  }

  /** Robots that the hosts have reported. */
  get robots(): number {
    const states = [...this.#latest.values()].flatMap(({ robots }) => Object.values(robots));
    return states.reduce((sum, count) => sum + count, 0);
  }

  /** Why a robot that should be online is not, if any host knows one. */
  get trouble(): string | undefined {
    return [...this.#latest.values()].find(({ trouble }) => trouble !== undefined)?.trouble;
  }

  /** Percentiles of all durations so far, to two digits. */
  summaries(): Record<string, Summary> {
    for (const [name, of] of this.#whole) if (!this.#summaries.has(name)) this.#summaries.set(name, summary(of));
    return Object.fromEntries(this.#summaries);
  }

  /** All durations of this name so far, to two digits; undefined where nothing was measured. */
  times(name: string): ReturnType<typeof histogram> | undefined {
    return this.#whole.get(name);
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
    const robots = combined(latest.map(({ robots: states }) => states));
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
    const taken = fresh.flatMap(({ tick: { interval } }) => Object.entries(interval.histograms));
    const curves = new Map<string, ReturnType<typeof histogram>>();
    for (const [key, text] of taken) {
      const { name, labels } = unlabelled(key);
      if (!CURVES.includes(name)) continue;
      const times = decode(text);
      for (const curve of new Set([name, labelled(name, { class: labels?.class })])) {
        const whole = curves.get(curve) ?? histogram(2);
        merge(whole, times);
        curves.set(curve, whole);
      }
    }
    for (const [name, whole] of curves) {
      const { p50, p99 } = summary(whole);
      tick.p50[name] = p50;
      tick.p99[name] = p99;
    }
    this.series.push(tick);
    return tick;
  }
}

// What a fleet has done and measured so far: phases, and what went wrong.

/** The outcome of a phase over all hosts. */
export interface PhaseReport extends PhaseOutcome {
  do: Phase['do'];
  /** Milliseconds after the fleet was created. */
  startedMs: number;
  durationMs: number;
  measured: boolean;
  /** Of a roll-out: what arrives later has missed it. */
  withinMs?: number;
  /** What was done by hand, in words. */
  note?: string;
  /** It did not end by itself. */
  interrupted?: boolean;
}

/** The part of a result that follows from measurements. */
export type Measured = Pick<
  FleetResult,
  'metrics' | 'counters' | 'histograms' | 'verdict' | 'verdict_reasons' | 'measured_seconds' | 'phases'
>;

const MAX_LISTED = 100;
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
  readonly #began = monotonicMs();
  #interrupted = false;
  #running: { phase: Phase; epoch: number } | undefined;

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

  /** Call at `epoch`, the start of a phase on the shared clock. */
  beginPhase(phase: Phase, epoch: number): void {
    this.phaseStartedMs = epoch - this.#began;
    this.#running = { phase, epoch };
  }

  /** Call when an interrupt ends the phase that is under way, if any: it stays in the result with what came of it. */
  interruptPhase(outcomes: readonly PhaseOutcome[]): void {
    if (this.#running === undefined || this.phaseStartedMs === undefined) return;
    const { phase, epoch } = this.#running;
    // Robots that are not online are in the reasons why the result is incomplete.
    const known = outcomes.map((outcome) => ({ ...outcome, notStarted: 0 }));
    this.phases.push({ ...this.#report(phase, epoch, known), interrupted: true });
    this.phaseStartedMs = undefined;
    this.#interrupted = true;
  }

  endPhase(phase: Phase, epoch: number, outcomes: readonly PhaseOutcome[]): PhaseReport {
    const report = this.#report(phase, epoch, outcomes);
    if (this.#interrupted) return report;
    if (phase.do === 'ramp') this.startMs = report.durationMs;
    this.phaseStartedMs = undefined;
    this.phases.push(report);
    return report;
  }

  /** Call when something that was done by hand at `epoch` has ended. `note`: what it was, in words. */
  endByHand(phase: Phase, epoch: number, outcomes: readonly PhaseOutcome[], note: string): PhaseReport {
    const report = { ...this.#report(phase, epoch, outcomes), measured: false, note };
    this.byHand.push(report);
    return report;
  }

  #report(phase: Phase, epoch: number, outcomes: readonly PhaseOutcome[]): PhaseReport {
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
      ...(phase.do === 'rollout' && { withinMs: withinMs(phase) }),
    };
    for (const error of report.errors) this.#addError(error);
    this.notStarted += report.notStarted;
    this.missed.push(...report.missed.slice(0, MAX_LISTED - this.missed.length));
    return report;
  }

  /** All that was done, as the result tells it: first the phases of the scenario. */
  get told(): FleetResult['phases'] {
    return [...this.phases, ...this.byHand].map((phase) =>
      defined({
        do: phase.do,
        started_ms: Math.round(phase.startedMs),
        duration_ms: Math.round(phase.durationMs),
        measured: phase.measured,
        actions: phase.actions,
        within_ms: phase.withinMs,
        interrupted: phase.interrupted,
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

  /** What became of single roll-outs of a fleet of so many robots. */
  rollouts(robots: number): NonNullable<FleetResult['rollouts']> {
    const start = this.phases[0]?.startedMs ?? 0;
    const rows = this.phases.flatMap(({ rollouts, startedMs }) =>
      rollouts.map((row) => ({ ...row, posted_ms: startedMs - start + row.at_ms })),
    );
    const missed = rows.filter(({ total_ms, open }) => total_ms === null && open !== true).slice(0, MAX_LISTED);
    return {
      missed: missed.map(({ name, posted_ms, late_ms }) => ({ name, posted_ms: Math.round(posted_ms), late_ms })),
      map: mapRollouts(rows, robots),
    };
  }

  /** What thresholds are compared with while the run goes on. */
  get standing(): Parameters<typeof evaluate>[1] {
    const { progress } = this;
    const ended = this.phases.reduce((sum, { measured, durationMs }) => sum + (measured ? durationMs : 0), 0);
    return {
      metrics: progress.summaries(),
      counters: progress.counters,
      times: (name) => progress.times(name),
      measuredSeconds: (ended + this.phaseElapsedMs) / 1000,
      phases: [...this.#phasesSoFar()],
    };
  }

  *#phasesSoFar(): Generator<{ label: string; seconds: number }> {
    for (const [index, { do: kind, measured, durationMs }] of this.phases.entries())
      if (measured) yield { label: phaseLabel(index, kind), seconds: durationMs / 1000 };
    const running = this.phaseStartedMs === undefined ? undefined : this.#running?.phase;
    if (running !== undefined && running.measure !== false)
      yield { label: phaseLabel(this.phases.length, running.do), seconds: this.phaseElapsedMs / 1000 };
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

  /** Grades what was measured. Without a snapshot, when no host can be asked any more, only counters remain. */
  measured(snapshot: Snapshot = { histograms: {}, counters: this.progress.counters }): Measured {
    const { histograms, counters } = snapshot;
    const metrics = summariesOf(snapshot);
    const { verdict, reasons } = this.#graded(metrics, counters);
    const measured = this.phases.filter((phase) => phase.measured);
    const seconds = measured.reduce((sum, phase) => sum + phase.durationMs, 0) / 1000;
    const { told: phases } = this;
    return { metrics, counters, histograms, verdict, verdict_reasons: reasons, measured_seconds: seconds, phases };
  }

  /** What the verdict would be if the run ended now, and what it may still come to. */
  get verdictSoFar(): ReturnType<typeof gradeRun> {
    return this.#graded(this.progress.summaries(), this.progress.counters);
  }

  #graded(metrics: Record<string, Summary>, counters: Record<string, number>): ReturnType<typeof gradeRun> {
    const { connections, progress } = this;
    const { samples, robots } = progress;
    const generator = gradeRun({ metrics, counters, samples, connections, robots, cores: processors() });
    const disturbed = gradeDisturbances(counters, this.#disturbances);
    return {
      verdict: worst([generator.verdict, disturbed.verdict]),
      reasons: [...generator.reasons, ...disturbed.reasons],
      atBest: worst([generator.atBest, disturbed.atBest]),
    };
  }

  /** Keeps one of the failures that differ only in the robot. */
  #addError(text: string): void {
    const withoutRobot = (error: string): string => error.replace(/ of \S+: /, '');
    const known = this.errors.some((other) => withoutRobot(other) === withoutRobot(text));
    if (!known && this.errors.length < MAX_ERRORS) this.errors.push(text);
  }
}
