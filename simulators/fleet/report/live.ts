/** Shows the progress of a running fleet: a panel, a line every few seconds, or figures for Prometheus. */
import { Counter, Gauge, Registry } from 'prom-client';
import { defined } from '../../../harness/common/defined.ts';
import { Display, LINE_EVERY_MS, pace, type Row } from '../../../harness/common/display.ts';
import { http, type Listening, listening } from '../../../harness/common/node-http.ts';
import { bar, type Output, sparkline } from '../../../harness/common/terminal.ts';
import { readableDuration } from '../../../harness/common/units.ts';
import { costParts, type RunCosts } from '../measure/costs.ts';
import { COUNTERS, DURATIONS, ofParts, ofWhole, percentileMs, unlabelled } from '../measure/metrics.ts';
import { type Judged, judgedText, type Tick } from '../result/result.ts';
import { type Measured, parseThreshold, type ThresholdResult } from '../result/thresholds.ts';

export interface Exposed extends Pick<Measured, 'metrics' | 'counters' | 'times'> {
  tick: Tick | undefined;
  robots: number;
  phase: string;
  keysReady: number;
  thresholds: readonly ThresholdResult[];
  costs?: RunCosts | undefined;
}

/**
 * Serves the metrics until disposed; rejects for an unusable port. `labels`: labels of every sample, e.g. the shard.
 */
export async function expose(options: {
  port: number;
  host?: string;
  labels?: Record<string, string>;
  read(): Exposed;
}): Promise<Listening> {
  const { port, host = '127.0.0.1', labels = {}, read } = options;
  const server = http.createServer((request, response) => {
    if (request.url?.split('?')[0] !== '/metrics')
      return void response.writeHead(404, { 'Content-Type': 'text/plain' }).end('the figures are at /metrics\n');
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
  // Uses separate metrics for classes and phases, because a sum over one metric would count an event twice.
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

export interface LiveState {
  title: string;
  tick: Tick;
  phase: { number: number; of: number; name: string };
  elapsedMs: number;
  remainingMs: number;
  errors: number;
  violations: number;
  judged?: Judged | undefined;
  thresholds: readonly ThresholdResult[];
  trouble: string | undefined;
}

export class LiveView {
  readonly #display: Display;
  readonly #ticks: Tick[] = [];
  #lastLine = Number.NEGATIVE_INFINITY;

  constructor(output: Output, env?: Record<string, string | undefined>) {
    this.#display = new Display(output, { labels: 9, ...(env && { env }) });
  }

  show(state: LiveState): void {
    this.#ticks.push(state.tick);
    if (this.#ticks.length > 24) this.#ticks.shift();
    if (this.#display.live) {
      this.#display.draw(panel(state, this.#ticks));
    } else if (state.elapsedMs - this.#lastLine >= LINE_EVERY_MS) {
      this.#lastLine = state.elapsedMs;
      this.#display.line(oneLine(state));
    }
  }

  progress(what: string, done: number, of: number): void {
    this.#display.progress(what, done, of);
  }

  end(): void {
    this.#display.keep();
  }
}

function panel(state: LiveState, ticks: readonly Tick[]): Row[] {
  const { title, tick, phase, elapsedMs, remainingMs, errors, violations, judged, thresholds, trouble } = state;
  const where = `${phase.number}/${phase.of} ${phase.name} of ${title}`;
  const done = bar(elapsedMs, elapsedMs + remainingMs, { columns: 12 });
  const rates = Object.fromEntries(Object.entries(tick.rates).filter(([, rate]) => rate > 0));
  const memory = `${Math.round(tick.rss_bytes / 2 ** 20)} MiB`;
  const perSecond = entries(rates, (rate) => (rate < 10 ? rate.toFixed(1) : String(Math.round(rate))));
  const sparks = ticks.map((of) => Object.values(of.rates).reduce((sum, rate) => sum + rate, 0));
  const standings = thresholds.map(({ expr, value, ok }) => `${value === null ? '·' : ok ? '✓' : '✗'} ${expr}`);
  const rows: Row[] = [
    ['phase', `${where}  ${done} ${times(elapsedMs, remainingMs)}`],
    ['robots', `${entries(tick.robots, String)}${phase.name === 'ramp' ? starting(ticks) : ''}`],
    ['a second', perSecond === '' ? '' : `${sparkline(sparks)} ${perSecond}`],
    ['p99', entries(ofWhole(tick.p99), readableDuration)],
    ['so far', standings.join('  ')],
    ['errors', `${errors}  violations ${violations}`],
    ['judged', judged === undefined ? '' : [judgedText(judged), ...broken(judged)].join('  ')],
    ['load', `cpu ${tick.cpu.toFixed(2)} cores  memory ${memory}  stall ${readableDuration(tick.loop_max_ms)}`],
    ['offline', trouble === undefined ? '' : `not online: ${trouble}`],
  ];
  return rows.filter(([, text]) => text !== '');
}

const broken = (judged?: Judged): string[] =>
  judged?.findings.length ? [`rules broken ${judged.findings.length}`] : [];

function starting(ticks: readonly Tick[]): string {
  const [first, last] = [ticks[0], ticks.at(-1)];
  if (first === undefined || last === undefined || last.at_ms <= first.at_ms) return '';
  const online = (tick: Tick): number => tick.robots['online'] ?? 0;
  const all = Object.values(last.robots).reduce((sum, count) => sum + count, 0);
  return pace((1000 * (online(last) - online(first))) / (last.at_ms - first.at_ms), all - online(last));
}

function oneLine({ tick, phase, elapsedMs, remainingMs, errors, violations, judged, trouble }: LiveState): string {
  return [
    times(elapsedMs, remainingMs),
    `phase ${phase.number}/${phase.of} ${phase.name}`,
    `robots ${entries(tick.robots, String)}`,
    `p99 ${entries(ofWhole(tick.p99), readableDuration) || '-'}`,
    `errors ${errors}`,
    `violations ${violations}`,
    ...broken(judged),
    ...(trouble === undefined ? [] : [`not online: ${trouble}`]),
  ].join(' · ');
}

const times = (elapsedMs: number, remainingMs: number): string =>
  `${readableDuration(elapsedMs)}, ${readableDuration(remainingMs)} to go`;

const entries = (map: Record<string, number>, write: (value: number) => string): string =>
  Object.entries(map)
    .map(([name, value]) => `${name} ${write(value)}`)
    .join('  ');
