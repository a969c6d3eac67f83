import { Counter, Gauge, Registry } from 'prom-client';
import { defined } from '../../../harness/common/defined.ts';
import { http, type Listening, listening } from '../../../harness/common/node-http.ts';
import { costParts, type RunCosts } from '../measure/costs.ts';
import { COUNTERS, DURATIONS, ofParts, ofWhole, percentileMs, unlabelled } from '../measure/metrics.ts';
import type { Tick } from '../result/result.ts';
import { type Measured, parseThreshold, type ThresholdResult } from '../result/thresholds.ts';

export interface Exposed extends Pick<Measured, 'metrics' | 'counters' | 'times'> {
  tick: Tick | undefined;
  robots: number;
  phase: string;
  keysReady: number;
  thresholds: readonly ThresholdResult[];
  costs?: RunCosts | undefined;
}

/** Serves the figures to Prometheus; rejects for an unusable port. `labels`: labels of every sample, e.g. the shard. */
export async function expose(options: {
  port: number;
  host?: string;
  labels?: Record<string, string>;
  read(): Exposed;
}): Promise<Listening> {
  const { port, host = '127.0.0.1', labels = {}, read } = options;
  const server = http.createServer((request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404, { 'Content-Type': 'text/plain' }).end('the figures are at /metrics\n');
      return;
    }
    const registry = registryOf(read(), labels);
    registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  return await listening(server, port, host);
}

const PERCENTS = [50, 90, 95, 99, 99.9];

type Sample = [value: number | undefined, labels?: Record<string, string | undefined>];

function quantilesIn({ times, thresholds }: Exposed): (key: string) => Sample[] {
  const wanted = thresholds.map(({ expr }) => parseThreshold(expr));
  return (key) => {
    const { name: metric, labels } = unlabelled(key);
    const all = times(key);
    if (all === undefined) return [];
    const own = wanted.flatMap((one) => (one.metric === metric ? (one.percent ?? []) : []));
    return [...new Set([...PERCENTS, ...own])].map((percent) => [
      percentileMs(all, percent),
      { metric, quantile: String(Number((percent / 100).toFixed(6))), ...labels },
    ]);
  };
}

function eventOf([key, count]: [string, number]): Sample {
  const { name: event, labels } = unlabelled(key);
  return [count, { event, ...labels }];
}

function registryOf(figures: Exposed, defaultLabels: Record<string, string>): Registry {
  const { tick, robots, phase, keysReady, metrics, counters, thresholds, costs } = figures;
  const registry = new Registry();
  registry.setDefaultLabels(defaultLabels);
  const meter = (
    name: string,
    help: string,
    labelNames: string[],
    samples: Sample[],
    Meter: typeof Gauge | typeof Counter = Gauge,
  ): void => {
    const own = new Meter({ name, help, labelNames, registers: [registry] });
    for (const [value, labels = {}] of samples) if (value !== undefined) own.inc(defined(labels), value);
  };
  const quantilesOf = quantilesIn(figures);
  // Starts every counter at 0, because Prometheus computes no rate from a counter's first value.
  const zero = Object.fromEntries(COUNTERS.map((event) => [event, 0]));
  const held = tick?.robots ?? { waiting: robots };
  const states = Object.entries(held).map(([state, count]): Sample => [count, { state }]);
  const events = Object.entries({ ...zero, ...ofWhole(counters) }).map(eventOf);
  const counts = DURATIONS.map((metric): Sample => [metrics[metric]?.count ?? 0, { metric }]);
  const met = thresholds.map(({ expr, ok }): Sample => [ok ? 1 : 0, { threshold: expr }]);
  const stalls = 'Longest stall of an event loop of the generator in the last second';
  meter('muster_robots', 'Robots by state', ['state'], states);
  meter('muster_phase', '1 for the current phase', ['phase'], [[1, { phase }]]);
  meter('muster_keys_ready', 'Key pairs of robots that are ready', [], [[keysReady]]);
  meter('muster_keys_wanted', 'Key pairs of robots that are needed', [], [[robots]]);
  const quantiles = 'Durations measured so far, by quantile';
  meter('muster_duration_milliseconds', quantiles, ['metric', 'quantile'], DURATIONS.flatMap(quantilesOf));
  meter('muster_duration_count', 'Number of durations measured so far', ['metric'], counts);
  meter('muster_events_total', 'Counters of the run', ['event'], events, Counter);
  // Separate metrics for classes and phases, because a sum over one metric would count an event twice.
  const parts = 'The same by class of robot and phase';
  const partDurations = Object.keys(ofParts(metrics)).flatMap(quantilesOf);
  const partEvents = Object.entries(ofParts(counters)).map(eventOf);
  const ofPart = ['class', 'phase'];
  meter('muster_part_duration_milliseconds', parts, ['metric', 'quantile', ...ofPart], partDurations);
  meter('muster_part_events_total', parts, ['event', ...ofPart], partEvents, Counter);
  meter('muster_threshold_met', '1 for a threshold that is met so far', ['threshold'], met);
  meter('muster_cpu_cores', 'Cores used by the generator', [], [[tick?.cpu]]);
  meter('muster_resident_bytes', 'Resident memory of the generator', [], [[tick?.rss_bytes]]);
  meter('muster_stall_milliseconds', stalls, [], [[tick?.loop_max_ms]]);
  const roles = costs === undefined ? [] : costParts(costs).filter(([role]) => role !== 'whole');
  const memory = roles.map(([role, part]): Sample => [part.end_bytes, { role }]);
  const cpu = roles.map(([role, part]): Sample => [part.cpu_seconds, { role }]);
  const { robot_whole_bytes: whole, robot_marginal_bytes: marginal } = costs?.parts.whole ?? {};
  const robot: Sample[] = [
    [whole ?? undefined, { cost: 'whole' }],
    [marginal ?? undefined, { cost: 'marginal' }],
  ];
  meter('muster_process_memory_bytes', 'Memory of processes at the last look (PSS)', ['role'], memory);
  meter('muster_process_cpu_seconds', 'Processor time of processes since their start', ['role'], cpu);
  meter('muster_robot_memory_bytes', 'Memory of one robot: of all processes, and of one more', ['cost'], robot);
  return registry;
}
