/**
 * What a running fleet shows: to a person a few lines that are redrawn on a terminal, or a line now and then elsewhere; to Prometheus its
 * figures at `GET /metrics`.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, Gauge, Registry } from 'prom-client';
import { readableDuration } from '../../../harness/common/durations.ts';
import { bar, LiveArea, type Output } from '../../../harness/common/terminal.ts';
import type { Summary } from '../measure/metrics.ts';
import type { Tick } from '../result/result.ts';

export interface LiveState {
  title: string;
  /** The newest second. */
  tick: Tick | undefined;
  phase: { number: number; of: number; name: string } | undefined;
  elapsedMs: number;
  /** Until the schedule ends. */
  remainingMs: number;
  errors: number;
  violations: number;
  /** Why robots that should be online are not, if known. */
  trouble: string | undefined;
}

/** Time between lines where there is no terminal. */
const LINE_EVERY_MS = 5000;

/** Draws the newest second of a run. */
export class LiveView {
  readonly #area: LiveArea;
  #lastProgress: number | undefined;
  #lastLine = Number.NEGATIVE_INFINITY;

  constructor(output: Output) {
    this.#area = new LiveArea(output);
  }

  /** Call about once a second. */
  show(state: LiveState): void {
    if (this.#area.live) {
      this.#area.draw(panel(state));
    } else if (state.elapsedMs - this.#lastLine >= LINE_EVERY_MS) {
      this.#lastLine = state.elapsedMs;
      this.#area.line(oneLine(state));
    }
  }

  /** Shows the progress of a preparation, e.g. of generating keys. */
  progress(what: string, done: number, of: number, nowMs = performance.now()): void {
    this.#lastProgress ??= nowMs;
    const text = `${what} ${bar(done, of)} ${done}/${of}`;
    if (this.#area.live) {
      this.#area.draw([text]);
    } else if (done === of || nowMs - this.#lastProgress >= LINE_EVERY_MS) {
      this.#lastProgress = nowMs;
      this.#area.line(text);
    }
  }

  /** Leaves what is drawn on the screen; what follows begins below it. */
  end(): void {
    this.#area.keep();
  }
}

function panel({ title, tick, phase, elapsedMs, remainingMs, errors, violations, trouble }: LiveState): string[] {
  const where = phase === undefined ? '' : `phase ${phase.number}/${phase.of} ${phase.name}  `;
  const head = `${title}  ${where}${bar(elapsedMs, elapsedMs + remainingMs)} ${times(elapsedMs, remainingMs)}`;
  if (tick === undefined) return [head];
  const rates = Object.fromEntries(Object.entries(tick.rates).filter(([, rate]) => rate > 0));
  const memory = `${Math.round(tick.rss_bytes / 2 ** 20)} MiB`;
  return [
    head,
    `robots   ${entries(tick.robots, String)}`,
    `a second ${entries(rates, (rate) => (rate < 10 ? rate.toFixed(1) : String(Math.round(rate)))) || 'nothing'}`,
    `p99      ${entries(tick.p99, readableDuration) || 'nothing'}`,
    `errors ${errors}  violations ${violations}  cpu ${tick.cpu.toFixed(2)} cores  memory ${memory}  loop stall ${readableDuration(tick.loop_max_ms)}`,
    ...(trouble === undefined ? [] : [`not online: ${trouble}`]),
  ];
}

function oneLine({ tick, phase, elapsedMs, remainingMs, errors, violations, trouble }: LiveState): string {
  return [
    times(elapsedMs, remainingMs),
    `phase ${phase?.number ?? '-'}/${phase?.of ?? '-'} ${phase?.name ?? ''}`,
    `robots ${entries(tick?.robots ?? {}, String)}`,
    `p99 ${entries(tick?.p99 ?? {}, readableDuration) || '-'}`,
    `errors ${errors}`,
    `violations ${violations}`,
    ...(trouble === undefined ? [] : [`not online: ${trouble}`]),
  ].join(' · ');
}

const times = (elapsedMs: number, remainingMs: number): string =>
  `${readableDuration(elapsedMs)}, ${readableDuration(remainingMs)} to go`;

const entries = (map: Record<string, number>, write: (value: number) => string): string =>
  Object.entries(map)
    .map(([name, value]) => `${name} ${write(value)}`)
    .join('  ');

/** The figures at a scrape. */
export interface Exposed {
  tick: Tick | undefined;
  metrics: Record<string, Summary>;
  counters: Record<string, number>;
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
  const server = createServer((request, response) => {
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

const QUANTILES = { '0.5': 'p50', '0.9': 'p90', '0.99': 'p99', '0.999': 'p999' } as const;

function meters(labels: Record<string, string>): { registry: Registry; update(figures: Exposed): void } {
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const robots = gauge('muster_robots', 'Robots by state', 'state');
  const durations = 'Durations measured so far, by quantile';
  const quantiles = gauge('muster_duration_milliseconds', durations, 'metric', 'quantile');
  const counts = gauge('muster_duration_count', 'Number of durations measured so far', 'metric');
  const help = 'Counters of the run';
  const events = new Counter({ name: 'muster_events_total', help, labelNames: ['event'], registers: [registry] });
  const cpu = gauge('muster_cpu_cores', 'Cores used by the generator');
  const memory = gauge('muster_resident_bytes', 'Resident memory of the generator');
  return {
    registry,
    update: ({ tick, metrics, counters }) => {
      robots.reset();
      for (const [state, count] of Object.entries(tick?.robots ?? {})) robots.set({ state }, count);
      for (const [metric, summary] of Object.entries(metrics)) {
        for (const [quantile, field] of Object.entries(QUANTILES)) quantiles.set({ metric, quantile }, summary[field]);
        counts.set({ metric }, summary.count);
      }
      events.reset();
      for (const [event, count] of Object.entries(counters)) events.inc({ event }, count);
      cpu.set(tick?.cpu ?? 0);
      memory.set(tick?.rss_bytes ?? 0);
    },
  };
}
