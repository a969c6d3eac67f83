import { expect, it } from 'vitest';
import { expose } from './exposition.ts';

it('serves the figures of a running fleet to Prometheus', async () => {
  let robots = { online: 3, down: 1 } as Record<string, number>;
  await using served = await expose({
    port: 0,
    labels: { shard: '2/8' },
    read: () => ({
      tick: { at_ms: 0, phase: 'hold', robots, rates: {}, p50: {}, p99: {}, cpu: 0.5, rss_bytes: 1024, loop_max_ms: 0 },
      metrics: { 'ping.ms': { count: 10, p50: 1, p90: 2, p99: 3, p999: 4, max: 5, unit: 'ms' } },
      counters: { 'http.attempts': 7 },
    }),
  });
  const scrape = async () => (await fetch(`http://127.0.0.1:${served.port}/metrics`)).text();
  const text = await scrape();
  expect(text).toContain('muster_robots{state="online",shard="2/8"} 3');
  expect(text).toContain('muster_duration_milliseconds{metric="ping.ms",quantile="0.99",shard="2/8"} 3');
  expect(text).toContain('muster_events_total{event="http.attempts",shard="2/8"} 7');
  expect(text).toContain('muster_cpu_cores{shard="2/8"} 0.5');
  robots = { online: 4 };
  expect(await scrape()).not.toContain('state="down"');
  expect((await fetch(`http://127.0.0.1:${served.port}/`)).status).toBe(404);
});
