import { defined } from '../../../harness/common/defined.ts';
import { mergeCosts } from '../measure/costs.ts';
import { combined, mergeSnapshots, summariesOf } from '../measure/metrics.ts';
import { type FleetResult, type Judged, type JudgedFinding, outcomeOf, type Tick } from './result.ts';
import { evaluate, measuredIn, parseThreshold } from './thresholds.ts';
import { worst } from './verdict.ts';

export class MergeError extends Error {
  override name = 'MergeError';
}

export interface Part {
  name: string;
  result: FleetResult;
}

interface MergeOptions {
  expect?: number;
  thresholds?: readonly string[];
  dead?: ReadonlyMap<number, string>;
}

/** Throws MergeError unless the parts are shards of one run. */
export function mergeResults(parts: readonly Part[], options: MergeOptions = {}): FleetResult {
  const [first, ...rest] = parts;
  if (first === undefined) throw new MergeError('there is no result to merge');
  mustBeOfOneRun(first, rest);
  const results = parts.map(({ result }) => result);
  const whole = mergeSnapshots(results);
  const metrics = summariesOf(whole);
  const measuredSeconds = Math.max(...results.map((result) => result.measured_seconds));
  const sum = (figure: (result: FleetResult) => number): number =>
    results.reduce((total, result) => total + figure(result), 0);
  const phases = first.result.phases.map((phase, index) => ({
    ...phase,
    duration_ms: Math.max(...results.map((result) => result.phases[index]?.duration_ms ?? 0)),
    actions: sum((result) => result.phases[index]?.actions ?? 0),
  }));
  const measured = measuredIn({ ...whole, metrics, phases, measured_seconds: measuredSeconds });
  const own = results.flatMap((result) => result.thresholds.map(({ expr }) => expr));
  const expressions = new Set([...own, ...(options.thresholds ?? [])]);
  const incomplete = [
    ...absent(parts, options),
    ...apart(parts),
    ...parts.flatMap(({ name, result }) => result.incomplete_reasons.map((reason) => `${name}: ${reason}`)),
  ];
  const robots = sum((result) => result.robots);
  const decisive = {
    shard: null,
    verdict: worst(results.map((result) => result.verdict)),
    complete: incomplete.length === 0,
    violations: results.flatMap((result) => result.violations).slice(0, 100),
    answers: mergeJudged(results.map((result) => result.answers)),
    thresholds: [...expressions].map((expr) => evaluate(parseThreshold(expr), measured)),
  };
  const begins = results.flatMap(({ phases_begin_ms: ms }) => ms ?? []);
  // Takes the longest preparation of a shard, because all shards begin the first phase together.
  const begun = begins.length === 0 ? undefined : Math.max(...begins);
  // Drops `ended_by`, because the early end of one shard makes the whole run incomplete, not failed.
  const { costs: _, ended_by: __, ...head } = first.result;
  return defined({
    ...head,
    ...whole,
    ...decisive,
    outcome: outcomeOf({ ...whole, ...decisive, metrics, uplink: head.uplink }),
    started_at: results.map((result) => result.started_at).sort()[0] ?? first.result.started_at,
    phases_begin_ms: begun,
    duration_ms: Math.max(...results.map((result) => result.duration_ms)),
    measured_seconds: measuredSeconds,
    robots,
    workers: sum((result) => result.workers),
    merged_from: parts.map(({ name }) => name),
    verdict_reasons: parts.flatMap(({ name, result }) => result.verdict_reasons.map((reason) => `${name}: ${reason}`)),
    incomplete_reasons: incomplete,
    start_ms: Math.max(...results.map((result) => result.start_ms)),
    rss_bytes_per_robot: robots === 0 ? 0 : sum((result) => result.rss_bytes_per_robot * result.robots) / robots,
    costs: mergeCosts(results.map((result) => result.costs)),
    metrics,
    missed: results.flatMap((result) => result.missed).slice(0, 100),
    phases,
    rollouts: { missed: results.flatMap(({ rollouts }) => rollouts.missed).slice(0, 100) },
    series: mergeSeries(results, begun),
    notes: [...new Set(results.flatMap((result) => result.notes))],
  });
}

function mustBeOfOneRun(first: Part, rest: readonly Part[]): void {
  for (const field of ['run_id', 'muster', 'scenario', 'seed', 'fleet_robots', 'uplink', 'key_bits'] as const) {
    const other = rest.find(({ result }) => result[field] !== first.result[field]);
    if (other === undefined) continue;
    const values = `${first.result[field] ?? 'absent'} and ${other.result[field] ?? 'absent'}`;
    throw new MergeError(`${first.name} and ${other.name} belong to different runs: ${field} is ${values}`);
  }
}

function absent(parts: readonly Part[], { expect, dead = new Map() }: MergeOptions): string[] {
  const count = expect ?? parts.find(({ result }) => result.shard !== null)?.result.shard?.count ?? 1;
  const byIndex = new Map<number, string>();
  for (const { name, result } of parts) {
    const shard = result.shard ?? { index: 1, count: 1 };
    if (shard.count !== count)
      throw new MergeError(`${name} is shard ${shard.index} of ${shard.count}, but ${count} shards were expected`);
    const other = byIndex.get(shard.index);
    if (other !== undefined) throw new MergeError(`${other} and ${name} are both shard ${shard.index}/${count}`);
    byIndex.set(shard.index, name);
  }
  const missing = Array.from({ length: count }, (_, at) => at + 1).filter((index) => !byIndex.has(index));
  return missing.map((index) => {
    const known = dead.get(index);
    return `shard ${index}/${count} ${known === undefined ? 'is missing: it left no result' : `is dead: ${known}`}`;
  });
}

function apart(parts: readonly Part[]): string[] {
  const starts = parts
    .flatMap(({ result: { shard, phases_at: at } }) => (shard === null || at === undefined ? [] : [{ shard, at }]))
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const [first, last] = [starts[0], starts.at(-1)];
  if (first === undefined || last === undefined) return [];
  const seconds = (Date.parse(last.at) - Date.parse(first.at)) / 1000;
  // Maximum seconds between the starts of shards; the clocks of machines may differ.
  if (seconds <= 10) return [];
  const name = ({ shard }: (typeof starts)[number]): string => `shard ${shard.index}/${shard.count}`;
  return [`${name(last)} began ${Math.round(seconds)} s after ${name(first)}, so they did not run as one fleet`];
}

function mergeJudged(parts: readonly (Judged | undefined)[]): Judged | undefined {
  const all = parts.filter((part) => part !== undefined);
  if (all.length === 0) return undefined;
  const sum = (figure: (part: Judged) => number): number => all.reduce((total, part) => total + figure(part), 0);
  const findings = new Map<string, JudgedFinding>();
  for (const each of all.flatMap((part) => part.findings)) {
    const first = findings.get(each.id) ?? { ...each, count: 0 };
    findings.set(each.id, { ...first, count: first.count + each.count });
  }
  return {
    seen: sum((part) => part.seen),
    judged: sum((part) => part.judged),
    dropped: sum((part) => part.dropped),
    cpu_share: Math.max(...all.map((part) => part.cpu_share)),
    findings: [...findings.values()],
  };
}

/** Aligns the series at the start of the phases; takes the highest percentile of all shards. */
function mergeSeries(results: readonly FleetResult[], begun: number | undefined): Tick[] {
  const parts = results.map(({ series, phases_begin_ms: beginMs }) => {
    const ended = begun === undefined ? 0 : (series.at(-1)?.at_ms ?? 0) + 1;
    const fromMs = beginMs ?? ended;
    return { series, fromMs, before: series.filter(({ at_ms: at }) => at < fromMs).length };
  });
  const before = Math.max(...parts.map((part) => part.before));
  const longest = Math.max(...parts.map((part) => before - part.before + part.series.length));
  return Array.from({ length: longest }, (_, second) => {
    const ticks = parts.flatMap((part) => {
      const tick = part.series[second - before + part.before];
      return tick === undefined ? [] : [{ ...tick, at_ms: tick.at_ms - part.fromMs + (begun ?? 0) }];
    });
    const [head] = ticks;
    if (head === undefined) throw new MergeError('a series has a gap');
    const p50 = ticks.map((tick) => tick.p50);
    const p99 = ticks.map((tick) => tick.p99);
    return {
      ...head,
      robots: combined(ticks.map(({ robots }) => robots)),
      rates: combined(ticks.map(({ rates }) => rates)),
      p50: combined(p50, Math.max),
      p99: combined(p99, Math.max),
      cpu: ticks.reduce((total, tick) => total + tick.cpu, 0),
      rss_bytes: ticks.reduce((total, tick) => total + tick.rss_bytes, 0),
      loop_max_ms: Math.max(...ticks.map((tick) => tick.loop_max_ms)),
    };
  });
}
