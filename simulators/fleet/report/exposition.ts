/** Serves the figures of a running fleet for Prometheus at `GET /metrics`. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, Gauge, Registry } from 'prom-client';
import type { Summary } from '../measure/metrics.ts';
import type { Tick } from '../result/result.ts';

/** The figures at a scrape. */
export interface Exposed {
  tick: Tick | undefined;
  metrics: Record<string, Summary>;
  counters: Record<string, number>;
}

export interface Exposition extends AsyncDisposable {
  readonly port: number;
  stop(): Promise<void>;
}

/** Serves until `stop`. Every sample has the `labels`, e.g. the shard. Rejects when it cannot listen. */
export async function expose(options: {
  port: number;
  host?: string;
  labels?: Record<string, string>;
  read(): Exposed;
}): Promise<Exposition> {
  const registry = new Registry();
  registry.setDefaultLabels(options.labels ?? {});
  const registers = [registry];
  const robots = new Gauge({ name: 'muster_robots', help: 'Robots by state', labelNames: ['state'], registers });
  const quantiles = new Gauge({
    name: 'muster_duration_milliseconds',
    help: 'Durations measured so far, by quantile',
    labelNames: ['metric', 'quantile'],
    registers,
  });
  const counts = new Gauge({
    name: 'muster_duration_count',
    help: 'Number of durations measured so far',
    labelNames: ['metric'],
    registers,
  });
  const events = new Counter({
    name: 'muster_events_total',
    help: 'Counters of the run',
    labelNames: ['event'],
    registers,
  });
  const cpu = new Gauge({ name: 'muster_cpu_cores', help: 'Cores used by the generator', registers });
  const memory = new Gauge({ name: 'muster_resident_bytes', help: 'Resident memory of the generator', registers });

  const server: Server = createServer((request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404, { 'Content-Type': 'text/plain' }).end('the figures are at /metrics\n');
      return;
    }
    const { tick, metrics, counters } = options.read();
    robots.reset();
    for (const [state, count] of Object.entries(tick?.robots ?? {})) robots.set({ state }, count);
    for (const [metric, summary] of Object.entries(metrics)) {
      for (const [quantile, field] of QUANTILES) quantiles.set({ metric, quantile }, summary[field]);
      counts.set({ metric }, summary.count);
    }
    events.reset();
    for (const [event, count] of Object.entries(counters)) events.inc({ event }, count);
    cpu.set(tick?.cpu ?? 0);
    memory.set(tick?.rss_bytes ?? 0);
    registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host ?? '127.0.0.1', resolve);
  });
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return stopping;
  };
  return { port: (server.address() as AddressInfo).port, stop, [Symbol.asyncDispose]: stop };
}

const QUANTILES = [
  ['0.5', 'p50'],
  ['0.9', 'p90'],
  ['0.99', 'p99'],
  ['0.999', 'p999'],
] as const;
