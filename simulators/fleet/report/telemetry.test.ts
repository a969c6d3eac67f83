import { expect, test } from 'vitest';
import type { Span } from '../../../harness/common/otlp.ts';
import type { RolloutRow } from '../host/host.ts';
import { traceOf, traceparentOf } from '../host/traced.ts';
import { histogram, recordMs, summary } from '../measure/metrics.ts';
import { tickWith } from '../result/testing/result.ts';
import type { FleetRecord } from '../run/record.ts';
import type { Exposed } from './exposition.ts';
import { spansOf, Telemetry } from './telemetry.ts';

const traced = { salt: 'run', every: 2 };
const row = (robot: number, change: Partial<RolloutRow> = {}): RolloutRow => ({
  robot,
  name: `robot-00000${robot}`,
  deployment_id: 'dpl_1',
  phase: 1,
  at_ms: 100,
  total_ms: 60,
  late_ms: null,
  command_ms: 10,
  sync_ms: 20,
  write_ms: 5,
  event_ms: 25,
  report_ms: 7,
  ...change,
});
const lengthOf = ({ startTimeUnixNano: from, endTimeUnixNano: until }: Span): number =>
  Number(BigInt(until) - BigInt(from)) / 1e6;

test('a roll-out is one trace, whose legs follow each other, and the POST names it', () => {
  const [root, ...legs] = spansOf(traced, row(4), 1000, 60_000);
  expect(traceparentOf(traced, { phase: 1, robot: 4 })).toBe(`00-${root?.traceId}-${root?.spanId}-01`);
  expect(traceparentOf(traced, { phase: 1, robot: 5 })).toBeUndefined();
  expect(traceparentOf(undefined, { phase: 1, robot: 4 })).toBeUndefined();
  for (const other of [
    { phase: 2, robot: 4 },
    { phase: 1, robot: 4, round: 1 },
  ])
    expect(traceOf(traced, { phase: 1, robot: 4 })).not.toEqual(traceOf(traced, other));
  expect(root).toMatchObject({ name: 'roll-out', status: {} });
  expect(root && lengthOf(root)).toBeCloseTo(60);
  expect(legs.map(({ name, parentSpanId }) => [name, parentSpanId === root?.spanId])).toEqual(
    ['command', 'sync', 'write', 'event', 'report'].map((leg) => [leg, true]),
  );
  expect(legs.map(lengthOf).map(Math.round)).toEqual([10, 20, 5, 25, 7]);
  for (const [at, leg] of legs.entries())
    expect(leg.startTimeUnixNano).toBe((legs[at - 1] ?? { endTimeUnixNano: root?.startTimeUnixNano }).endTimeUnixNano);
  expect(new Set([root, ...legs].map((span) => span?.spanId)).size).toBe(6);
});

test('a roll-out that was missed is an error, as long as it was waited for', () => {
  const missed = { total_ms: null, command_ms: null, sync_ms: null, write_ms: null, event_ms: null, report_ms: null };
  const [never, ...none] = spansOf(traced, row(2, missed), 0, 500);
  expect(never).toMatchObject({ status: { code: 2, message: 'its event was not read in time' } });
  expect(never && lengthOf(never)).toBeCloseTo(500);
  expect(none).toEqual([]);
  const [late] = spansOf(traced, row(2, { ...missed, late_ms: 900 }), 0, 500);
  expect(late).toMatchObject({ status: { message: 'its event was read too late' } });
});

const times = histogram();
recordMs(times, 12);
const PART = 'ping.ms{class=arm,phase=2-hold}';
const exposed: Exposed = {
  tick: { ...tickWith(), robots: { online: 3 } },
  robots: 3,
  phase: 'hold',
  keysReady: 3,
  metrics: { 'ping.ms': summary(times), [PART]: summary(times) },
  counters: { 'ping.errors': 2 },
  times: (name) => (name === 'ping.ms' || name === PART ? times : undefined),
  thresholds: [{ expr: 'ping.ms.p99<1s', value: 12, ok: true }],
};
const record = { elapsedMs: 5000, phases: [{ rollouts: [row(0), row(1), row(2)], startedMs: 1000 }] };
const read = () => ({ record: record as unknown as FleetRecord, exposed });

test('figures and traces are pushed once more at the end, and each trace once', async () => {
  const sent: [signal: string, message: string][] = [];
  const send = async (signal: string, message: object) => void sent.push([signal, JSON.stringify(message)]);
  const telemetry = new Telemetry({
    send,
    version: '1.2.3',
    traced,
    labels: { scenario: 's', shard: undefined },
    read,
  });
  expect(await telemetry.close()).toBeUndefined();
  expect(sent.map(([signal]) => signal)).toEqual(['metrics', 'traces']);
  const [[, metrics = ''] = [], [, traces = ''] = []] = sent;
  const attribute = (key: string, stringValue: string) => JSON.stringify({ key, value: { stringValue } });
  for (const expected of [
    '"name":"muster.robots"',
    attribute('state', 'online'),
    attribute('scenario', 's'),
    `${attribute('metric', 'ping.ms')},${attribute('quantile', '0.99')},${attribute('class', 'arm')}`,
    '"name":"muster.part.duration"',
    attribute('threshold', 'ping.ms.p99<1s'),
    '"asDouble":12',
  ])
    expect(metrics).toContain(expected);
  // Robots 0 and 2, each with five legs.
  expect(traces.match(/"spanId"/g)).toHaveLength(12);
  expect(traces).not.toContain('robot-000001');
});

test('a collector that takes nothing costs the run nothing, and is told of', async () => {
  const send = () => Promise.reject(new Error('fetch failed', { cause: new Error('connect ECONNREFUSED') }));
  const telemetry = new Telemetry({ send, version: '1', traced, labels: {}, read });
  expect(await telemetry.close()).toBe('--otlp: 2 messages are lost: connect ECONNREFUSED');
});
