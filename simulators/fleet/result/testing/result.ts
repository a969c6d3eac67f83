import type { CostPart } from '../../measure/costs.ts';
import type { LoadSample } from '../../measure/saturation.ts';
import { type FleetResult, type Judged, outcomeOf, type Tick } from '../result.ts';

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
    uplink: 'none',
    key_bits: 1024,
    platform: 'embedded',
    verdict: 'valid',
    verdict_reasons: [],
    complete: true,
    incomplete_reasons: [],
    start_ms: 10,
    rss_bytes_per_robot: 1000,
    metrics: {},
    // Marks event streams as read, because a fleet without a platform otherwise measured nothing.
    counters: { 'subscriber.violations': 0 },
    thresholds: [],
    violations: [],
    missed: [],
    rollouts: { missed: [] },
    phases: [],
    series: [],
    histograms: {},
    notes: [],
    ...change,
  };
  return { outcome: outcomeOf(result), ...result };
}

export const judgedWith = (findings: readonly Partial<Judged['findings'][number]>[]): Judged => ({
  seen: 100,
  judged: 10,
  dropped: 0,
  cpu_share: 0.02,
  findings: findings.map((change) => ({
    id: 'platform.list.envelope.everywhere',
    level: 'MUST',
    requirement: 'Every list is one.',
    count: 1,
    phase: '2-hold',
    expected: 'a list',
    actual: 'a map',
    request: 'GET http://localhost/beta/devices',
    curl: 'curl http://localhost/beta/devices',
    ...change,
  })),
});

export const tickWith = (change: Partial<Tick> = {}): Tick => ({
  at_ms: 1000,
  phase: 'hold',
  robots: {},
  rates: {},
  p50: {},
  p99: {},
  cpu: 0,
  rss_bytes: 0,
  loop_max_ms: 0,
  ...change,
});

export const calmLoad: LoadSample = {
  loop_max_ms: 8,
  cpu: 0.4,
  cpu_wait: 0,
  descriptors: 500,
  descriptor_limit: 20_000,
  rss_bytes: 1e8,
};

export const costPartWith = (change: Partial<CostPart> = {}): CostPart => ({
  processes: 1,
  peak_bytes: 2048,
  end_bytes: 1024,
  cpu_seconds: 1.5,
  robot_whole_bytes: 512,
  robot_marginal_bytes: null,
  ...change,
});
