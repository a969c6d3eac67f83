/** Puts together the result of a run from its options, its record and its measurements. */
import type { RunCosts } from '../result/costs.ts';
import { type FleetResult, outcomeOf } from '../result/result.ts';
import { evaluate, parseThreshold, percentilesOf, type ThresholdResult } from '../result/thresholds.ts';
import { UPLINK_CONNECTIONS } from '../robot/shared-connections.ts';
import type { Fleet } from './fleet.ts';
import type { FleetRecord, Measured } from './fleet-record.ts';
import type { RunOptions } from './options.ts';

/** The parts of a `Fleet` that go into its result. */
export interface FleetFacts extends Pick<Fleet, 'robots' | 'record'> {
  layout: Pick<Fleet['layout'], 'robotName'>;
}

/** How a run went, beside what its fleet knows. */
export interface RunFacts {
  /** ISO 8601. */
  startedAt: string;
  workers: number;
  interrupted: boolean;
  /** What there is to say of the files of the run. */
  notes: readonly string[];
  /** What its processes took; undefined where the system does not say. */
  costs?: RunCosts | undefined;
}

/** The options that a result tells of. */
type ToldOptions = Pick<
  RunOptions,
  'scenario' | 'platform' | 'version' | 'robots' | 'seed' | 'shard' | 'identity' | 'keyBits' | 'thresholds' | 'defects'
>;

export function resultOf(options: ToldOptions, fleet: FleetFacts, measured: Measured, run: RunFacts): FleetResult {
  const { scenario, platform } = options;
  const { robots, record } = fleet;
  const whyNotStarted = record.notStarted > 0 ? record.errors.find((error) => error.startsWith(START)) : undefined;
  const incomplete = incompleteReasons(fleet, run, whyNotStarted);
  const { metrics, counters, histograms, measured_seconds: measuredSeconds } = measured;
  const decisive = {
    shard: options.shard ?? null,
    complete: incomplete.length === 0,
    verdict: measured.verdict,
    violations: record.violations,
    thresholds: evaluatedThresholds(options, {
      metrics,
      counters,
      percentile: percentilesOf(histograms),
      measuredSeconds,
    }),
  };
  return {
    outcome: outcomeOf(decisive),
    muster: options.version,
    scenario: scenario.name,
    started_at: run.startedAt,
    ...(options.identity !== undefined && { run_id: options.identity.runId }),
    ...(options.identity?.jobId !== undefined && { job_id: options.identity.jobId }),
    ...(record.phasesAt !== undefined && { phases_at: record.phasesAt }),
    ...(record.phasesBeginMs !== undefined && { phases_begin_ms: Math.round(record.phasesBeginMs) }),
    duration_ms: Math.round(record.elapsedMs),
    robots,
    fleet_robots: Math.max(options.robots, robots),
    workers: run.workers,
    seed: options.seed,
    uplink: scenario.uplink ?? 'agent',
    key_bits: options.keyBits,
    platform: typeof platform === 'object' ? platform.url : (platform ?? 'none'),
    incomplete_reasons: incomplete,
    start_ms: record.startMs,
    rss_bytes_per_robot: Math.round(record.rssBytesPerRobot),
    ...(run.costs !== undefined && { costs: run.costs }),
    ...measured,
    ...decisive,
    missed: record.missed,
    rollouts: record.rollouts(Math.max(options.robots, robots)),
    phases: [...record.phases, ...record.byHand].map((phase) => ({
      do: phase.do,
      started_ms: Math.round(phase.startedMs),
      duration_ms: Math.round(phase.durationMs),
      measured: phase.measured,
      actions: phase.actions,
      ...(phase.withinMs !== undefined && { within_ms: phase.withinMs }),
      ...(phase.interrupted === true && { interrupted: true }),
      ...(phase.note !== undefined && { by_hand: phase.note }),
    })),
    series: record.progress.series,
    notes: [
      ...record.errors.filter((error) => error !== whyNotStarted).map((error) => `failed: ${error}`),
      ...byHandNotes(record),
      ...notesOn(options, fleet, counters),
      ...run.notes,
    ],
  };
}

/** The beginning of the error of a robot that did not come online. */
const START = 'start of ';

function incompleteReasons({ robots, record }: FleetFacts, run: RunFacts, whyNotStarted: string | undefined): string[] {
  const reasons = [...record.incomplete];
  if (run.interrupted) {
    const { trouble, series } = record.progress;
    const online = series.at(-1)?.robots['online'] ?? 0;
    reasons.push('the run was interrupted');
    if (trouble !== undefined)
      reasons.push(`${count(robots - online)} of ${count(robots)} robots were not online: ${trouble}`);
  }
  if (record.notStarted > 0) {
    const example = whyNotStarted === undefined ? '' : `: ${whyNotStarted.slice(START.length)}`;
    reasons.push(`${count(record.notStarted)} of ${count(robots)} robots did not come online${example}`);
  }
  return reasons;
}

function byHandNotes({ byHand, pauses, elapsedMs }: FleetRecord): string[] {
  const after = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  return [
    ...byHand.map(({ startedMs, note = '' }) => `By hand, after ${after(startedMs)}: ${note}.`),
    ...pauses.map(({ fromMs, untilMs }) => {
      return `By hand, after ${after(fromMs)}: the scenario was paused until ${after(untilMs ?? elapsedMs)}.`;
    }),
  ];
}

function notesOn(
  { platform, scenario, keyBits, defects = {} }: ToldOptions,
  { layout }: FleetFacts,
  counters: Measured['counters'],
): string[] {
  const notes: string[] = [];
  if ((counters['uplink.crowded'] ?? 0) > 0) {
    notes.push(
      `Requests of robots waited for one of the ${UPLINK_CONNECTIONS} connections that the robots of a worker share (counter uplink.crowded), and the sync times include that; use more --workers, or --shard.`,
    );
  }
  if (platform === 'embedded') {
    notes.push(
      "The platform is Muster's own and runs on the same machine, with a lower priority than the robots: latencies include its waits for a processor.",
    );
  }
  if ((scenario.uplink ?? 'agent') === 'agent' && keyBits < 2048) {
    notes.push(
      `Robots used ${keyBits}-bit keys: signing cost less than with the 2048 bits that platforms usually ask for.`,
    );
  }
  for (const [robot, defect] of Object.entries(defects)) {
    notes.push(`${layout.robotName(Number(robot))} has a planted defect: ${defect}.`);
  }
  return notes;
}

const count = (value: number): string => value.toLocaleString('en');

/** What the run must meet, compared with what was measured. */
export const evaluatedThresholds = (
  options: Pick<RunOptions, 'scenario' | 'thresholds'>,
  measured: Parameters<typeof evaluate>[1],
): ThresholdResult[] => thresholdsOf(options).map((expr) => evaluate(parseThreshold(expr), measured));

/** A roll-out that does not arrive fails a run, unless the scenario says how many may be missed. */
function thresholdsOf({ scenario, thresholds }: Pick<RunOptions, 'scenario' | 'thresholds'>): string[] {
  const wanted = [...(scenario.thresholds ?? []), ...thresholds];
  const measuresRollouts = scenario.phases.some((phase) => phase.do === 'rollout' && phase.measure !== false);
  if (measuresRollouts && !wanted.some((expr) => parseThreshold(expr).metric === 'rollout.missed')) {
    wanted.push('rollout.missed.count==0');
  }
  return [...new Set(wanted.map((expr) => parseThreshold(expr).expr))];
}
