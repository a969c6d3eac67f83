/** A small result of a fleet, for tests. */
import { type FleetResult, outcomeOf } from '../result.ts';

export function resultWith(change: Partial<FleetResult> = {}): FleetResult {
  const result: Omit<FleetResult, 'outcome'> = {
    muster: '0.0.0',
    scenario: 'test',
    started_at: '2026-01-01T00:00:00.000Z',
    duration_ms: 1000,
    measured_seconds: 1,
    robots: 10,
    fleet_robots: 40,
    workers: 1,
    seed: 1,
    shard: null,
    uplink: 'agent',
    key_bits: 1024,
    platform: 'embedded',
    verdict: 'valid',
    verdict_reasons: [],
    complete: true,
    incomplete_reasons: [],
    start_ms: 10,
    rss_bytes_per_robot: 1000,
    metrics: {},
    counters: {},
    thresholds: [],
    violations: [],
    missed: [],
    phases: [],
    series: [],
    histograms: {},
    notes: [],
    ...change,
  };
  return { outcome: outcomeOf(result), ...result };
}
