/** The shape of `result.json`: the result of a fleet's run, of a shard, or of merged shards. */

import Type, { type Static } from 'typebox';
import { oneOf, shape, Timestamp } from '../../../harness/contract/shape.ts';
import { runCosts } from '../measure/costs.ts';
import { VERDICTS } from './verdict.ts';

// Where and when roll-outs were slow, late or lost: bands of robots over the time of a run. The number of cells has a
// limit, however large the fleet and long the run.

/** Bands of a map; a small fleet has one for each robot. */
const MOST_BANDS = 50;
const MOST_COLUMNS = 120;
/** Columns of this width or a power of two times it, so that those of different shards fit into each other. */
const NARROWEST_MS = 10;

const rolloutMap = Type.Object({
  bands: Type.Integer({ description: 'Bands of robots, by their index in the fleet' }),
  column_ms: Type.Number({ description: 'Width of a column; the first begins with the first phase' }),
  cells: Type.Array(Type.Array(Type.Number()), {
    description: 'Of each: band, column, POSTs sent, slowest that arrived in time (ms; 0: none), late, lost',
  }),
});
type RolloutMap = Static<typeof rolloutMap>;

/** One cell of a map. */
export interface Cell {
  band: number;
  column: number;
  attempts: number;
  /** Of those that arrived in time; 0 without any. */
  slowestMs: number;
  late: number;
  lost: number;
}

/** One roll-out to one robot. Milliseconds; `posted_ms` from the start of the first phase. */
interface Row {
  robot: number;
  posted_ms: number;
  total_ms: number | null;
  late_ms: number | null;
  /** Neither arrived nor missed when the run was interrupted. */
  open?: boolean;
}

export const cellsOf = ({ cells }: RolloutMap): Cell[] =>
  cells.map(([band = 0, column = 0, attempts = 0, slowestMs = 0, late = 0, lost = 0]) => ({
    band,
    column,
    attempts,
    slowestMs,
    late,
    lost,
  }));

/** The map of the roll-outs of a fleet of `robots`, over all its shards. */
export function mapRollouts(rows: readonly Row[], robots: number): RolloutMap {
  const bands = Math.max(1, Math.min(robots, MOST_BANDS));
  const last = rows.reduce((latest, { posted_ms }) => Math.max(latest, posted_ms), 0);
  const columnMs = widthFor(last);
  const cells = rows.map(
    ({ robot, posted_ms, total_ms, late_ms, open = false }): Cell => ({
      band: Math.min(Math.floor((robot * bands) / Math.max(robots, 1)), bands - 1),
      column: Math.max(0, Math.floor(posted_ms / columnMs)),
      attempts: 1,
      slowestMs: total_ms ?? 0,
      late: total_ms === null && late_ms !== null ? 1 : 0,
      lost: total_ms === null && late_ms === null && !open ? 1 : 0,
    }),
  );
  return { bands, column_ms: columnMs, cells: added(cells) };
}

/** The map of all shards of one fleet. */
export function mergeMaps(maps: readonly RolloutMap[]): RolloutMap {
  const columnMs = Math.max(NARROWEST_MS, ...maps.map(({ column_ms }) => column_ms));
  const cells = maps.flatMap((map) => {
    const wider = columnMs / map.column_ms;
    return cellsOf(map).map((cell) => ({ ...cell, column: Math.floor(cell.column / wider) }));
  });
  return { bands: maps[0]?.bands ?? 1, column_ms: columnMs, cells: added(cells) };
}

function widthFor(lastMs: number): number {
  let width = NARROWEST_MS;
  while (lastMs / width >= MOST_COLUMNS) width *= 2;
  return width;
}

/** Adds up those in the same place. */
function added(cells: readonly Cell[]): number[][] {
  const byPlace = new Map<string, Cell>();
  for (const cell of cells) {
    const place = `${cell.band} ${cell.column}`;
    const held = byPlace.get(place);
    if (held === undefined) {
      byPlace.set(place, { ...cell });
      continue;
    }
    held.attempts += cell.attempts;
    held.slowestMs = Math.max(held.slowestMs, cell.slowestMs);
    held.late += cell.late;
    held.lost += cell.lost;
  }
  return [...byPlace.values()]
    .sort((a, b) => a.band - b.band || a.column - b.column)
    .map(({ band, column, attempts, slowestMs, late, lost }) => [
      band,
      column,
      attempts,
      Number(slowestMs.toPrecision(4)),
      late,
      lost,
    ]);
}

const summaryFields = Type.Object({
  count: Type.Integer(),
  p50: Type.Number(),
  p90: Type.Number(),
  p95: Type.Optional(Type.Number()),
  p99: Type.Number(),
  p999: Type.Number(),
  max: Type.Number(),
  unit: Type.Literal('ms'),
});

const thresholdResult = Type.Object({
  expr: Type.String(),
  value: Type.Union([Type.Number(), Type.Null()]),
  ok: Type.Boolean(),
  reason: Type.Optional(Type.String()),
});

/** What a subscriber on a robot must never see: a fault of its event stream. */
export const violation = Type.Object({
  robot: Type.Integer({ description: 'Index in the fleet' }),
  name: Type.String(),
  kind: oneOf(['gap', 'reorder', 'loss', 'renumbered']),
  message: Type.String({ description: 'Names the ids of the events' }),
});
export type Violation = Static<typeof violation>;

export const OUTCOMES = ['PASSED', 'FAILED', 'INCOMPLETE'] as const;
/** What a run says of the platform and the robots, apart from the verdict on the generator. */
export type FleetOutcome = (typeof OUTCOMES)[number];

const phaseResult = Type.Object({
  do: Type.String(),
  started_ms: Type.Number({ description: 'Milliseconds after the run began' }),
  duration_ms: Type.Number(),
  measured: Type.Boolean(),
  actions: Type.Integer(),
  within_ms: Type.Optional(Type.Number({ description: 'Of a roll-out: what arrives later has missed it' })),
  interrupted: Type.Optional(Type.Boolean({ description: 'Whether an interrupt ended it' })),
  by_hand: Type.Optional(Type.String({ description: 'What a person did beside the scenario, in words' })),
});

/** What became of single roll-outs. Milliseconds count from the start of the first phase. Older results lack it. */
const rollouts = Type.Object({
  missed: Type.Array(
    Type.Object({
      name: Type.String(),
      posted_ms: Type.Number(),
      late_ms: Type.Union([Type.Number(), Type.Null()], {
        description: 'From the POST to the event read on the robot; null when it was never read',
      }),
    }),
    { description: 'The first hundred; the counter rollout.missed counts all' },
  ),
  map: rolloutMap,
});

/** One second of a run, over all workers. */
export const tick = Type.Object({
  at_ms: Type.Number(),
  phase: Type.String(),
  robots: Type.Record(Type.String(), Type.Integer(), { description: 'Robots by state' }),
  rates: Type.Record(Type.String(), Type.Number(), { description: 'Counters per second' }),
  p50: Type.Record(Type.String(), Type.Number()),
  p99: Type.Record(Type.String(), Type.Number()),
  cpu: Type.Number({ description: 'Cores used by all workers' }),
  rss_bytes: Type.Number(),
  loop_max_ms: Type.Number(),
});
export type Tick = Static<typeof tick>;

export const fleetResult = shape(
  'FleetResult',
  Type.Object({
    muster: Type.String(),
    scenario: Type.String(),
    started_at: Timestamp,
    run_id: Type.Optional(Type.String({ description: 'Of the whole fleet; its shards have the same' })),
    job_id: Type.Optional(Type.String({ description: 'What started the shard, e.g. the uid of a Kubernetes Job' })),
    phases_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'When the first phase began, by the clock of its machine' }),
    ),
    phases_begin_ms: Type.Optional(
      Type.Number({ description: 'The same moment on the time axis of `series`, milliseconds from its start' }),
    ),
    duration_ms: Type.Number(),
    measured_seconds: Type.Number(),
    robots: Type.Integer({ description: 'Robots in this result' }),
    fleet_robots: Type.Integer({ description: 'Robots of the whole fleet, over all shards' }),
    workers: Type.Integer(),
    seed: Type.Integer(),
    shard: Type.Union([Type.Object({ index: Type.Integer(), count: Type.Integer() }), Type.Null()]),
    merged_from: Type.Optional(Type.Array(Type.String())),
    uplink: Type.String(),
    key_bits: Type.Integer(),
    platform: Type.String({ description: 'embedded, or the URL' }),
    verdict: oneOf(VERDICTS, 'Of the load generator alone: whether it kept up'),
    verdict_reasons: Type.Array(Type.String()),
    complete: Type.Boolean({ description: 'False when interrupted, or when a shard or worker is missing' }),
    incomplete_reasons: Type.Array(Type.String()),
    start_ms: Type.Number({ description: 'Duration of the ramp, milliseconds' }),
    rss_bytes_per_robot: Type.Number({
      description: 'Growth of the resident memory of the workers alone, over the ramp',
    }),
    costs: Type.Optional(runCosts),
    metrics: Type.Record(Type.String(), summaryFields),
    counters: Type.Record(Type.String(), Type.Number()),
    thresholds: Type.Array(thresholdResult),
    violations: Type.Array(violation, {
      description: 'The first hundred; the counter subscriber.violations counts all',
    }),
    missed: Type.Array(Type.String(), {
      description: 'Names of the first hundred robots that missed their roll-out',
    }),
    rollouts: Type.Optional(rollouts),
    phases: Type.Array(phaseResult),
    series: Type.Array(tick),
    histograms: Type.Record(
      Type.String(),
      Type.String({ description: 'base64 of a compressed HDR histogram, microseconds' }),
    ),
    notes: Type.Array(Type.String()),
    outcome: Type.Optional(oneOf(OUTCOMES, 'Of the run; agrees with the exit code. Older results lack it')),
  }),
);
export type FleetResult = Static<typeof fleetResult.schema>;

/** Whether nothing was measured, so that verdict and thresholds are meaningless. */
export const measuredNothing = ({ metrics }: Pick<FleetResult, 'metrics'>): boolean =>
  Object.keys(metrics).length === 0;

/** The parts of a result that decide how the run ended. */
type Decisive = Pick<FleetResult, 'violations' | 'complete' | 'verdict' | 'thresholds' | 'shard'>;

/** Whether thresholds decide it. Those of a shard are for the whole fleet: `muster merge` alone can tell. */
export const isJudged = ({ shard }: Pick<FleetResult, 'shard'>): boolean => shard === null;

/**
 * The exit code of `muster fleet`. 1: a subscriber saw a violation. 2: incomplete. 98: the generator saturated, so the
 * figures mean nothing. 99: a threshold was missed, never by a shard. Violations matter more than figures, and a
 * saturated generator more than thresholds.
 */
export function exitCode(result: Decisive): 0 | 1 | 2 | 98 | 99 {
  if (result.violations.length > 0) return 1;
  if (!result.complete) return 2;
  if (result.verdict === 'invalid') return 98;
  if (isJudged(result) && result.thresholds.some(({ ok }) => !ok)) return 99;
  return 0;
}

const OUTCOME_OF: Record<ReturnType<typeof exitCode>, FleetOutcome> = {
  0: 'PASSED',
  1: 'FAILED',
  2: 'INCOMPLETE',
  // Figures that mean nothing decide nothing.
  98: 'INCOMPLETE',
  99: 'FAILED',
};

/** The outcome, which agrees with the exit code. */
export const outcomeOf = (result: Decisive): FleetOutcome => OUTCOME_OF[exitCode(result)];

/** How far the roll-outs of a run came: shares of attempts. */
export interface Reach {
  attempts: number;
  inTime: number;
  /** Read after the time that the scenario allows. */
  late: number;
  /** Not read before the run ended. With an older result, late ones are among them. */
  lost: number;
  /** Neither arrived nor missed when the run ended. */
  pending: number;
  /** Whether late ones are told from lost ones. */
  split: boolean;
}

/** Undefined for a run without roll-outs. */
export function reachOf({ counters, metrics, rollouts }: FleetResult): Reach | undefined {
  const inTime = metrics['rollout.ms']?.count ?? 0;
  // Results of old versions do not count attempts.
  const missed = counters['rollout.missed'] ?? 0;
  const attempts = counters['rollout.attempts'] ?? inTime + missed;
  if (attempts === 0) return undefined;
  const late = Math.min(metrics['rollout.late.ms']?.count ?? 0, missed);
  return {
    attempts,
    inTime,
    late,
    lost: missed - late,
    pending: Math.max(0, attempts - inTime - missed),
    split: rollouts !== undefined,
  };
}
