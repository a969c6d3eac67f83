/** Shape of `result.json`: the result of a fleet, of a shard, or of merged shards. */

import type { Static } from 'typebox';
import { nullable, objectShape, oneOf, Timestamp, Type } from '../../../harness/contract/shape.ts';
import { runCosts, thousands } from '../measure/costs.ts';
import { summaryFields } from '../measure/metrics.ts';
import { VERDICTS } from './verdict.ts';

const violation = Type.Object({
  robot: Type.Integer({ description: 'Index in the fleet' }),
  name: Type.String(),
  kind: oneOf(['gap', 'reorder', 'loss', 'renumbered']),
  message: Type.String({ description: 'Names the ids of the events' }),
});
export type Violation = Static<typeof violation>;

export const OUTCOMES = ['PASSED', 'FAILED', 'INCOMPLETE'] as const;
export type FleetOutcome = (typeof OUTCOMES)[number];

const phaseResult = Type.Object({
  do: Type.String(),
  started_ms: Type.Number({ description: 'Milliseconds after the run began' }),
  duration_ms: Type.Number(),
  measured: Type.Boolean(),
  actions: Type.Integer(),
  within_ms: Type.Optional(Type.Number({ description: 'Of a roll-out: what arrives later has missed it' })),
  interrupted: Type.Optional(Type.Boolean({ description: 'Whether an interrupt ended it' })),
  rounds: Type.Optional(
    Type.Integer({ description: 'How often it was carried out; actions and duration are those of all' }),
  ),
  by_hand: Type.Optional(Type.String({ description: 'What a person did beside the scenario, in words' })),
});

const tick = Type.Object({
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

const finding = Type.Object({
  id: Type.String({ description: 'Of the rule; muster explain has its words' }),
  level: oneOf(['MUST', 'SHOULD']),
  requirement: Type.String(),
  count: Type.Integer({ description: 'Judged answers that broke it' }),
  phase: Type.String({ description: 'In which the first of them came' }),
  expected: Type.String(),
  actual: Type.String(),
  counterexample: Type.Optional(Type.String()),
  request: Type.String({ description: 'Method and address of the first one' }),
  curl: Type.String({ description: 'A shell line that asks the same again' }),
});
export type JudgedFinding = Static<typeof finding>;

const judged = Type.Object(
  {
    seen: Type.Integer({ description: 'Whole answers of the Platform API to the fleet' }),
    judged: Type.Integer({ description: 'Those of them that the rules were given: a sample' }),
    dropped: Type.Integer({ description: 'Those that were in the sample, and not judged in time' }),
    cpu_share: Type.Number({ description: 'Of one processor, that the judging took; of shards, the largest' }),
    findings: Type.Array(finding, { description: 'One for each rule that was broken' }),
  },
  { description: 'Of a run with --judge' },
);
export type Judged = Static<typeof judged>;

export const fleetResult = objectShape('FleetResult', {
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
  shard: nullable(Type.Object({ index: Type.Integer(), count: Type.Integer() })),
  merged_from: Type.Optional(Type.Array(Type.String())),
  uplink: Type.String(),
  key_bits: Type.Integer(),
  platform: Type.String({ description: 'embedded, or the URL' }),
  verdict: oneOf(VERDICTS, 'Of the load generator alone: whether it kept up'),
  verdict_reasons: Type.Array(Type.String()),
  complete: Type.Boolean({ description: 'False when interrupted, or when a shard or worker is missing' }),
  incomplete_reasons: Type.Array(Type.String()),
  ended_by: Type.Optional(
    Type.String({ description: 'Condition that ended the run early: of abort_on, or of a gate that did not hold' }),
  ),
  start_ms: Type.Number({ description: 'Duration of the ramp, milliseconds' }),
  rss_bytes_per_robot: Type.Number({
    description: 'Growth of the resident memory of the workers alone, over the ramp',
  }),
  costs: Type.Optional(runCosts),
  metrics: Type.Record(Type.String(), summaryFields),
  counters: Type.Record(Type.String(), Type.Number()),
  thresholds: Type.Array(
    Type.Object({
      expr: Type.String(),
      value: nullable(Type.Number()),
      ok: Type.Boolean(),
      reason: Type.Optional(Type.String()),
    }),
  ),
  violations: Type.Array(violation, { description: 'The first hundred; the counter subscriber.violations counts all' }),
  answers: Type.Optional(judged),
  missed: Type.Array(Type.String(), { description: 'Names of the first hundred robots that missed their roll-out' }),
  /** Missed roll-outs; `posted_ms` counts milliseconds from the start of the first phase. */
  rollouts: Type.Object({
    missed: Type.Array(
      Type.Object({
        name: Type.String(),
        posted_ms: Type.Number(),
        late_ms: nullable(Type.Number(), 'From the POST to the event read on the robot; null when it was never read'),
      }),
      { description: 'The first hundred; the counter rollout.missed counts all' },
    ),
  }),
  phases: Type.Array(phaseResult),
  series: Type.Array(tick),
  histograms: Type.Record(
    Type.String(),
    Type.String({ description: 'base64 of a compressed HDR histogram, microseconds' }),
  ),
  notes: Type.Array(Type.String()),
  soak: Type.Optional(
    Type.Object(
      {
        for_ms: Type.Number(),
        ran_ms: Type.Number({ description: 'How long it ran' }),
        rounds: Type.Integer({ description: 'How often the scenario was carried out whole' }),
      },
      { description: 'Of a run with --for' },
    ),
  ),
  outcome: oneOf(OUTCOMES, 'Of the run; agrees with the exit code'),
});
export type FleetResult = Static<typeof fleetResult.schema>;

/** Metrics of the load generator itself. */
export const OWN = /^(schedule\.|start\.ms)/;

/** True if only the load generator was measured; without a platform, a read event stream counts as a measurement. */
export const measuredNothing = ({ metrics, counters, uplink }: Measurable): boolean =>
  // Ignores connection times, because a platform may accept connections and answer nothing.
  Object.keys(metrics).every((name) => OWN.test(name) || name === 'http.connect.ms') &&
  (uplink !== 'none' || counters['subscriber.violations'] === undefined);

type Measurable = Pick<FleetResult, 'metrics' | 'counters' | 'uplink'>;
type Decisive = Measurable &
  Pick<FleetResult, 'violations' | 'complete' | 'verdict' | 'thresholds' | 'shard'> & {
    answers?: FleetResult['answers'] | undefined;
    ended_by?: string | undefined;
  };

/** False for a shard, because thresholds apply to the whole fleet. */
export const isJudged = ({ shard }: Pick<FleetResult, 'shard'>): boolean => shard === null;

/**
 * Returns the exit code of `muster fleet`: 0 passed; 1 violation, or broken MUST; 2 incomplete run, or nothing
 * measured for a threshold or at all; 98 saturated load generator; 99 missed threshold, or condition that ended the
 * run.
 */
export function exitCode(result: Decisive): 0 | 1 | 2 | 98 | 99 {
  const brokeMust = result.answers?.findings.some(({ level }) => level === 'MUST') === true;
  if (result.violations.length > 0 || brokeMust) return 1;
  const endedBy = isJudged(result) ? result.ended_by : undefined;
  if (!result.complete && endedBy === undefined) return 2;
  if (result.verdict === 'invalid') return 98;
  if (!isJudged(result)) return 0;
  if (endedBy !== undefined || result.thresholds.some(isMissed)) return 99;
  return !measuredNothing(result) && result.thresholds.every(({ ok }) => ok) ? 0 : 2;
}

type Evaluated = Pick<FleetResult['thresholds'][number], 'ok' | 'value'>;

export const isMissed = ({ ok, value }: Evaluated): boolean => !ok && value !== null;

export const figuresCount = ({ complete, verdict }: Pick<Decisive, 'complete' | 'verdict'>): boolean =>
  complete && verdict !== 'invalid';

export type Deciding = Pick<Decisive, 'complete' | 'verdict' | 'shard'>;

export function standingOf(result: Deciding, threshold: Evaluated): { tone: 'good' | 'bad' | 'open'; words: string } {
  const open = (words: string) => ({ tone: 'open' as const, words: `· ${words}` });
  if (!isJudged(result)) return open('of this shard; muster merge decides');
  if (!result.complete) return open('not evaluated');
  if (result.verdict === 'invalid') return open('not judged');
  if (threshold.ok) return { tone: 'good', words: '✓ met' };
  return isMissed(threshold) ? { tone: 'bad', words: '✗ missed' } : open('not measured');
}

export function judgedText({ seen, judged: read, dropped, cpu_share }: Judged): string {
  const share = seen === 0 ? '' : ` (${percent(read / seen)})`;
  const late = dropped === 0 ? '' : `, ${thousands(dropped)} dropped`;
  return `${thousands(read)} of ${thousands(seen)} answers${share}${late} · ${percent(cpu_share)} of a processor`;
}

export const foundText = ({ level, id, count, phase, expected, actual }: JudgedFinding): string =>
  `${level} ${id}: ${count === 1 ? 'one answer' : `${thousands(count)} answers`}, first in ${phase}: ` +
  `expected ${expected}; got ${actual}`;

const percent = (share: number): string => `${Number((100 * share).toPrecision(2))} %`;

export const roundsOf = ({ soak }: Pick<FleetResult, 'soak'>): string[] =>
  soak === undefined ? [] : [soak.rounds === 1 ? '1 round' : `${soak.rounds.toLocaleString('en')} rounds`];

export function outcomeOf(result: Decisive): FleetOutcome {
  const code = exitCode(result);
  if (code === 0) return 'PASSED';
  return code === 1 || code === 99 ? 'FAILED' : 'INCOMPLETE';
}

export const timesOf = ({ duration_ms: whole, phases_begin_ms: preparingMs = 0 }: FleetResult) => ({
  runMs: Math.max(0, whole - preparingMs),
  preparingMs,
});

export type Reach = NonNullable<ReturnType<typeof reachOf>>;

export function reachOf({ counters, metrics }: FleetResult) {
  const { 'rollout.attempts': attempts = 0, 'rollout.missed': missed = 0 } = counters;
  if (attempts === 0) return undefined;
  const inTime = metrics['rollout.ms']?.count ?? 0;
  const late = Math.min(metrics['rollout.late.ms']?.count ?? 0, missed);
  return { attempts, inTime, late, lost: missed - late, pending: Math.max(0, attempts - inTime - missed) };
}
