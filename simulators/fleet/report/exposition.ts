/** Serves the figures of a running fleet to Prometheus, at `GET /metrics`. */

import type { AddressInfo } from 'node:net';
import { Counter, Gauge, Registry } from 'prom-client';
import { http } from '../../../harness/common/node-http.ts';
import { costParts, type RunCosts } from '../measure/costs.ts';
import { COUNTERS, DURATIONS, type Summary } from '../measure/metrics.ts';
import type { Tick } from '../result/result.ts';
import { parseThreshold, type ThresholdResult } from '../result/thresholds.ts';

/** The figures at a scrape. */
export interface Exposed {
  /** The newest second; undefined until the robots' hosts are ready. */
  tick: Tick | undefined;
  /** Robots of this run. */
  robots: number;
  phase: string;
  /** Robots whose key pairs are there. */
  keysReady: number;
  metrics: Record<string, Summary>;
  counters: Record<string, number>;
  /** Milliseconds that so many percent of a duration did not exceed; undefined where nothing was measured. */
  percentile(metric: string, percent: number): number | undefined;
  /** The thresholds as they stand. */
  thresholds: readonly ThresholdResult[];
  /** What the processes take; undefined until they were looked at. */
  costs?: RunCosts | undefined;
}

export interface Exposition extends AsyncDisposable {
  readonly port: number;
}

/** Serves until disposed. Every sample has the `labels`, e.g. the shard. Rejects when it cannot listen. */
export async function expose(options: {
  port: number;
  host?: string;
  labels?: Record<string, string>;
  read(): Exposed;
}): Promise<Exposition> {
  const { registry, update } = meters(options.labels ?? {});
  const server = http.createServer((request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404, { 'Content-Type': 'text/plain' }).end('the figures are at /metrics\n');
      return;
    }
    update(options.read());
    registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host ?? '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Percentiles of every scrape, beside those that thresholds ask for. */
const PERCENTS = [50, 90, 95, 99, 99.9];

function meters(labels: Record<string, string>): { registry: Registry; update(figures: Exposed): void } {
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const robots = gauge('muster_robots', 'Robots by state', 'state');
  const phases = gauge('muster_phase', '1 for the current phase', 'phase');
  const keysReady = gauge('muster_keys_ready', 'Key pairs of robots that are ready');
  const keysWanted = gauge('muster_keys_wanted', 'Key pairs of robots that are needed');
  const durations = 'Durations measured so far, by quantile';
  const quantiles = gauge('muster_duration_milliseconds', durations, 'metric', 'quantile');
  const counts = gauge('muster_duration_count', 'Number of durations measured so far', 'metric');
  const help = 'Counters of the run';
  const events = new Counter({ name: 'muster_events_total', help, labelNames: ['event'], registers: [registry] });
  const met = gauge('muster_threshold_met', '1 for a threshold that is met so far', 'threshold');
  const cpu = gauge('muster_cpu_cores', 'Cores used by the generator');
  const memory = gauge('muster_resident_bytes', 'Resident memory of the generator');
  const stall = gauge(
    'muster_stall_milliseconds',
    'Longest stall of an event loop of the generator in the last second',
  );
  const processes = costMeters(registry);
  const update = (figures: Exposed): void => {
    const { tick, metrics, counters } = figures;
    for (const meter of [robots, phases, quantiles, events, met]) meter.reset();
    for (const [state, count] of Object.entries(tick?.robots ?? { waiting: figures.robots }))
      robots.set({ state }, count);
    phases.set({ phase: figures.phase }, 1);
    keysReady.set(figures.keysReady);
    keysWanted.set(figures.robots);
    for (const metric of DURATIONS) {
      counts.set({ metric }, metrics[metric]?.count ?? 0);
      for (const percent of percentsFor(metric, figures.thresholds)) {
        const value = figures.percentile(metric, percent);
        if (value !== undefined) quantiles.set({ metric, quantile: String(Number((percent / 100).toFixed(6))) }, value);
      }
    }
    // A counter that appears with its first event has no rate then.
    for (const event of new Set([...COUNTERS, ...Object.keys(counters)])) events.inc({ event }, counters[event] ?? 0);
    for (const { expr, ok } of figures.thresholds) met.set({ threshold: expr }, ok ? 1 : 0);
    cpu.set(tick?.cpu ?? 0);
    memory.set(tick?.rss_bytes ?? 0);
    stall.set(tick?.loop_max_ms ?? 0);
    processes(figures.costs);
  };
  return { registry, update };
}

function percentsFor(metric: string, thresholds: readonly ThresholdResult[]): Set<number> {
  const wanted = thresholds.map(({ expr }) => parseThreshold(expr));
  return new Set([...PERCENTS, ...wanted.flatMap((one) => (one.metric === metric ? (one.percent ?? []) : []))]);
}

/** By what the processes are for: `parent`, `workers`, `platform`. A robot's cost appears once robots are up. */
function costMeters(registry: Registry): (costs: RunCosts | undefined) => void {
  const gauge = (name: string, help: string, label: string) =>
    new Gauge({ name, help, labelNames: [label], registers: [registry] });
  const memory = gauge('muster_process_memory_bytes', 'Memory of processes at the last look (PSS, else RSS)', 'role');
  const cpu = gauge('muster_process_cpu_seconds', 'Processor time of processes since their start', 'role');
  const robot = gauge('muster_robot_memory_bytes', 'Memory of one robot: of all processes, and of one more', 'cost');
  return (costs) => {
    for (const meter of [memory, cpu, robot]) meter.reset();
    if (costs === undefined) return;
    for (const [role, part] of costParts(costs)) {
      if (role === 'whole') continue;
      memory.set({ role }, part.end_bytes);
      cpu.set({ role }, part.cpu_seconds);
    }
    const { robot_whole_bytes: whole, robot_marginal_bytes: marginal } = costs.parts.whole;
    if (whole !== null) robot.set({ cost: 'whole' }, whole);
    if (marginal !== null) robot.set({ cost: 'marginal' }, marginal);
  };
}
