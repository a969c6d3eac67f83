/** What a run shows of itself while it goes on. */
import type { Exposed } from '../report/exposition.ts';
import type { LiveState } from '../report/live.ts';
import type { Tick } from '../result/result.ts';
import { scheduleMs } from '../schedule/plan.ts';
import type { Fleet } from './fleet.ts';
import type { FleetRecord } from './fleet-record.ts';
import type { RunOptions } from './options.ts';
import { evaluatedThresholds } from './outcome.ts';

/** For Prometheus. `record`: none before the fleet is made. */
export function exposedOf(
  options: RunOptions,
  record: FleetRecord | undefined,
  keys: Exposed['keys'],
  tick: Tick | undefined,
  costs: Exposed['costs'],
): Exposed {
  const standing = record?.standing ?? NOTHING_MEASURED;
  const thresholds = evaluatedThresholds(options, standing);
  return { ...standing, tick, robots: keys.wanted, phase: record?.phase ?? 'starting', keys, thresholds, costs };
}

const NOTHING_MEASURED: FleetRecord['standing'] = {
  metrics: {},
  counters: {},
  percentile: () => undefined,
  measuredSeconds: 0,
};

/** For the lines and pages that people watch. */
export function liveState({ record }: Fleet, options: RunOptions, tick: Tick): LiveState {
  const { scenario } = options;
  const number = Math.min(record.phases.length, scenario.phases.length - 1);
  const left = scenario.phases.slice(number).reduce((sum, phase) => sum + scheduleMs(phase), 0);
  const errors = Object.entries(record.progress.counters).filter(([name]) => name.endsWith('.errors'));
  return {
    title: scenario.name,
    tick,
    phase: { number: number + 1, of: scenario.phases.length, name: scenario.phases[number]?.do ?? '' },
    elapsedMs: record.elapsedMs,
    remainingMs: Math.max(0, left - record.phaseElapsedMs),
    errors: errors.reduce((sum, [, count]) => sum + count, 0),
    violations: record.violations.length,
    thresholds: evaluatedThresholds(options, record.standing),
    trouble: record.progress.trouble,
  };
}
