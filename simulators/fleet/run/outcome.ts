/** The result of a run, put together from its options, what the fleet knows and what it measured. */

import type { FleetResult } from '../result/result.ts';
import { evaluate, parseThreshold } from '../result/thresholds.ts';
import type { Fleet, Measured } from './fleet.ts';
import type { RunOptions } from './run.ts';

export function resultOf(
  options: RunOptions,
  fleet: Fleet,
  measured: Measured,
  { startedAt, workers, interrupted }: { startedAt: string; workers: number; interrupted: boolean },
): FleetResult {
  const { scenario } = options;
  const incomplete = [...fleet.incomplete, ...(interrupted ? ['the run was interrupted', ...notOnline(fleet)] : [])];
  const [whyNot] = fleet.errors.filter((error) => fleet.notStarted > 0 && error.startsWith(START));
  if (fleet.notStarted > 0) {
    const example = whyNot === undefined ? '' : `: ${whyNot.slice(START.length)}`;
    incomplete.push(`${count(fleet.notStarted)} of ${count(fleet.robots)} robots did not come online${example}`);
  }
  const notes = fleet.errors.filter((error) => error !== whyNot).map((error) => `failed: ${error}`);
  const uplink = scenario.uplink ?? 'agent';
  if (options.platform === 'embedded') {
    notes.push("The platform is Muster's own, on the same machine: latencies include what that costs.");
  }
  if (uplink === 'agent' && options.keyBits < 2048) {
    notes.push(
      `Robots used ${options.keyBits}-bit keys: signing was cheaper than with the 2048 bits that a platform asks for.`,
    );
  }
  for (const [robot, defect] of Object.entries(options.defects ?? {})) {
    notes.push(`${fleet.robotName(Number(robot))} deviates on purpose: ${defect}.`);
  }
  return {
    muster: options.version,
    scenario: scenario.name,
    started_at: startedAt,
    duration_ms: Math.round(fleet.elapsedMs),
    robots: fleet.robots,
    fleet_robots: options.robots,
    workers,
    seed: options.seed,
    shard: options.shard ?? null,
    uplink,
    key_bits: options.keyBits,
    platform: typeof options.platform === 'object' ? options.platform.url : (options.platform ?? 'none'),
    complete: incomplete.length === 0,
    incomplete_reasons: incomplete,
    start_ms: fleet.startMs,
    rss_bytes_per_robot: Math.round(fleet.rssBytesPerRobot),
    ...measured,
    thresholds: thresholdsOf(options).map((expr) =>
      evaluate(parseThreshold(expr), {
        metrics: measured.metrics,
        counters: measured.counters,
        measuredSeconds: measured.measured_seconds,
      }),
    ),
    violations: fleet.violations,
    missed: fleet.missed,
    phases: fleet.phases.map((phase) => ({
      do: phase.do,
      started_ms: Math.round(phase.startedMs),
      duration_ms: Math.round(phase.durationMs),
      measured: phase.measured,
      actions: phase.actions,
    })),
    series: fleet.progress.series,
    notes,
  };
}

/** How the error of a robot that did not come online begins. */
const START = 'start of ';

/** What kept robots away while the run went on. */
function notOnline({ progress, robots }: Fleet): string[] {
  const { trouble } = progress;
  const online = progress.series.at(-1)?.robots['online'] ?? 0;
  return trouble === undefined
    ? []
    : [`${count(robots - online)} of ${count(robots)} robots were not online: ${trouble}`];
}

const count = (value: number): string => value.toLocaleString('en');

/** A roll-out that does not arrive fails a run, unless the scenario says how many may be missed. */
function thresholdsOf({ scenario, thresholds }: RunOptions): string[] {
  const wanted = [...(scenario.thresholds ?? []), ...thresholds];
  const counts = scenario.phases.some((phase) => phase.do === 'rollout' && phase.measure !== false);
  if (counts && !wanted.some((expr) => parseThreshold(expr).metric === 'rollout.missed')) {
    wanted.push('rollout.missed.count==0');
  }
  return [...new Set(wanted.map((expr) => parseThreshold(expr).expr))];
}
