import { expect, it } from 'vitest';
import { histogram, recordMs, summary } from '../measure/metrics.ts';
import { costPartWith, tickWith } from '../result/testing/result.ts';
import { type Exposed, expose } from './exposition.ts';

const started: Exposed = {
  tick: undefined,
  robots: 4,
  phase: 'preparing',
  keysReady: 1,
  metrics: {},
  counters: {},
  times: () => undefined,
  thresholds: [{ expr: 'ping.ms.p99.5<1s', value: null, ok: false }],
};
const tick = tickWith({ cpu: 0.5, rss_bytes: 1024, loop_max_ms: 7 });
const part = costPartWith();
const PART = 'ping.ms{class=arm,phase=2-hold}';
const times = histogram();
for (let us = 1; us <= 1000; us += 1) recordMs(times, us / 1000);

it('serves the figures of a fleet to Prometheus, from its first second on', async () => {
  let figures = started;
  await using served = await expose({ port: 0, labels: { shard: '2/8' }, read: () => figures });
  const scrape = async () => (await fetch(`http://127.0.0.1:${served.port}/metrics`)).text();
  const lines = async () => (await scrape()).replaceAll(/,?shard="2\/8"/g, '').split('\n');
  expect(await scrape()).toContain('muster_keys_ready{shard="2/8"} 1');
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'muster_robots{state="waiting"} 4',
      'muster_phase{phase="preparing"} 1',
      'muster_keys_wanted{} 4',
      'muster_events_total{event="http.errors"} 0',
      'muster_duration_count{metric="rollout.ms"} 0',
      'muster_threshold_met{threshold="ping.ms.p99.5<1s"} 0',
    ]),
  );
  figures = {
    ...started,
    phase: 'hold',
    tick: { ...tick, robots: { online: 3, down: 1 } },
    metrics: { 'ping.ms': summary(times), [PART]: summary(times) },
    counters: { 'http.attempts': 7, 'http.status.503': 2, 'http.attempts{phase=2-hold}': 5 },
    times: (name) => (name === 'ping.ms' || name === PART ? times : undefined),
    thresholds: [{ expr: 'ping.ms.p99.5<1s', value: 0.995, ok: true }],
    costs: { memory: 'PSS', robots: 4, parts: { parent: part, workers: part, whole: part } },
  };
  const text = await scrape();
  expect(text).not.toMatch(/state="waiting"|preparing/);
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'muster_robots{state="online"} 3',
      ...['0.5', '0.95', '0.99', '0.995', '0.999'].map(
        (quantile) => `muster_duration_milliseconds{metric="ping.ms",quantile="${quantile}"} ${quantile}`,
      ),
      'muster_part_duration_milliseconds{metric="ping.ms",quantile="0.5",class="arm",phase="2-hold"} 0.5',
      'muster_part_events_total{event="http.attempts",phase="2-hold"} 5',
      'muster_events_total{event="http.attempts"} 7',
      'muster_events_total{event="http.status.503"} 2',
      'muster_threshold_met{threshold="ping.ms.p99.5<1s"} 1',
      'muster_cpu_cores{} 0.5',
      'muster_process_memory_bytes{role="workers"} 1024',
      'muster_process_cpu_seconds{role="parent"} 1.5',
      'muster_robot_memory_bytes{cost="whole"} 512',
    ]),
  );
  expect(text).not.toMatch(/role="platform"|cost="marginal"/);
  figures = { ...figures, tick: { ...tick, robots: { online: 4 } } };
  expect(await scrape()).not.toContain('state="down"');
  expect((await fetch(`http://127.0.0.1:${served.port}/`)).status).toBe(404);
});
