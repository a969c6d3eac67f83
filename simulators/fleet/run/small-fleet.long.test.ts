import { afterEach, expect, it, vi } from 'vitest';
import { eventually } from '../../common/testing/scratch.ts';
import type { SimulatedPlatform } from '../../platform/index.ts';
import { Robot } from '../robot/robot.ts';
import type { FleetOptions } from './fleet.ts';
import { listOf, runAll, useFleets } from './testing/fleets.ts';

const fleets = useFleets();
afterEach(() => void vi.restoreAllMocks());

const devicesOf = async (platform: SimulatedPlatform): Promise<number> =>
  (await listOf(platform, '/devices?limit=100')).length +
  (await listOf(platform, '/devices?limit=100&offset=100')).length;

it('a scenario runs without a violation through storms, kills, partitions and skewed clocks', async () => {
  await using fleet = fleets.create(`
  - { do: rollout, share: 50%, over: 100ms }
  - { do: storm, over: 100ms }
  - { do: clock-skew, share: 50%, by: -1h }
  - { do: kill, share: 50%, over: 100ms, down: 100ms }
  - { do: partition, share: 25%, for: 200ms }
  - { do: rollout, over: 200ms }
  - { do: stop, over: 100ms }`);
  await runAll(fleet);
  const { counters, metrics } = await fleet.measured();
  expect(fleet.record.violations).toEqual([]);
  expect(fleet.record.missed).toEqual([]);
  expect(fleet.record.phases.map(({ actions }) => actions)).toEqual([12, 6, 12, 6, 6, 3, 12, 12]);
  expect(counters).toMatchObject({ 'rollout.attempts': 18, 'rollout.missed': 0 });
  expect(metrics['rollout.ms']?.count).toBe(18);
  expect(metrics['reconnect.ms']?.count).toBe(12 + 6 + 3);
});

it('a scenario pings and lists at its rate, and leaves out a warm-up', async () => {
  await using fleet = fleets.create(`
  - { do: hold, for: 200ms, ping: 100/s, lists: 50/s, arrivals: constant, measure: false }
  - { do: hold, for: 400ms, ping: 100/s, lists: 50/s, arrivals: constant }`);
  await runAll(fleet);
  const { counters, metrics, measured_seconds } = await fleet.measured();
  expect(counters).toMatchObject({ 'ping.attempts': 40, 'http.attempts': 60, 'ping.errors': 0, 'http.errors': 0 });
  expect(metrics['ping.ms']?.count).toBe(40);
  expect(metrics['ping.target.ms']?.count).toBe(40);
  expect(metrics['http.target.ms']?.count).toBe(20);
  expect(metrics['http.target.ms']?.p50).toBeLessThanOrEqual(metrics['http.ms']?.p50 ?? 0);
  expect(metrics['schedule.lateness.ms']?.count).toBe(60);
  expect(measured_seconds).toBeLessThan(fleet.record.elapsedMs / 1000);
  expect(fleet.record.progress.series.at(-1)).toMatchObject({ phase: 'finishing' });
});

it('a scenario does not count simultaneous actions as late', async () => {
  await using fleet = fleets.create('  - { do: rollout, over: 0s }\n');
  await runAll(fleet);
  const { metrics } = await fleet.measured();
  // 12 starts of robots and 12 roll-outs.
  expect(metrics['schedule.burst.ms']?.count).toBe(24);
  expect(metrics['schedule.lateness.ms']).toBeUndefined();
  expect(metrics['http.target.ms']?.count).toBe(12);
});

it('a scenario reports requests that waited for a connection', async () => {
  const phases = '  - { do: hold, for: 200ms, lists: 500/s, arrivals: jitter }\n';
  await using fleet = fleets.create(phases, { connections: 1 });
  await runAll(fleet);
  const { counters, verdict, verdict_reasons: reasons } = await fleet.measured();
  expect(counters['http.crowded']).toBeGreaterThan(0);
  expect(verdict).toBe('invalid');
  expect(reasons.join('\n')).toMatch(/^\d+ requests waited because all 1 connections /m);
  expect(reasons).toContain('raise --connections above 1');
});

it.each(['agent', 'polling'])(
  'a scenario reuses its devices in another run with its keys and names (%s)',
  async (uplink) => {
    const before = await devicesOf(fleets.platform);
    for (const [index, count] of [
      [1, 1],
      [1, 2],
      [2, 2],
    ] as const) {
      const options = { robots: 6, namePrefix: `again-${uplink}`, shard: { index, count } };
      await using fleet = fleets.create(`uplink: ${uplink}\n`, options);
      await runAll(fleet);
      expect(fleet.record.notStarted).toBe(0);
    }
    expect(await devicesOf(fleets.platform)).toBe(before + 6);
  },
);

it('a scenario waits at the end for clients that go on reading', async () => {
  await using fleet = await fleets.online('uplink: none\n', { robots: 1, platform: undefined });
  const until = performance.now() + 7000;
  const fault = { kind: 'loss', message: 'unread' } as const;
  vi.spyOn(Robot.prototype, 'unread', 'get').mockImplementation(() => (performance.now() < until ? [fault] : []));
  vi.spyOn(Robot.prototype, 'position', 'get').mockImplementation(() => performance.now());
  await fleet.finish();
  expect(fleet.record.violations).toEqual([]);
});

it('a scenario counts a robot that is refused as away for the whole wait', async () => {
  await using fleet = await fleets.online('uplink: none\n', { robots: 1, platform: undefined });
  vi.spyOn(Robot.prototype, 'whenOnline').mockRejectedValue(new Error('refused'));
  await fleet.run({ do: 'storm', over: '0s' });
  const { metrics, counters } = await fleet.measured();
  expect(counters['storm.errors']).toBe(1);
  expect(metrics['reconnect.ms']?.p50).toBeGreaterThanOrEqual(119_000);
});

it('a scenario kills a robot once when two kills overlap, and keeps its uplink', async () => {
  await using fleet = await fleets.online('  - { do: rollout, over: 0s }\n', { robots: 2 });
  const kill = (over: string) => ({ do: 'kill', over, down: '600ms' }) as const;
  await Promise.all([fleet.run(kill('0s')), fleet.runByHand(kill('400ms'), 0, 'kill')]);
  await fleet.run({ do: 'rollout', over: '0s' });
  await fleet.finish();
  expect(fleet.record.missed).toEqual([]);
  expect(fleet.record.failures).toEqual([]);
  expect((await fleet.measured()).counters['kill.errors']).toBe(0);
});

it('a scenario grades the seconds of its phases only, also while robots are cut off or down', async () => {
  await using fleet = fleets.create('  - { do: storm, over: 0s }\n', { robots: 1 });
  const { record } = fleet;
  await fleet.prepare();
  await eventually(() => expect(record.progress.series.length).toBeGreaterThan(1));
  expect(record.progress.judgedSeconds).toBe(0);
  await fleet.run({ do: 'ramp', over: '0s' });
  for (const phase of [
    { do: 'partition', for: '4s' },
    { do: 'kill', over: '0s', down: '4s' },
  ] as const) {
    const before = record.progress.judgedSeconds;
    await fleet.run(phase);
    expect(record.progress.judgedSeconds, phase.do).toBeGreaterThan(before);
  }
});

it('a scenario waits no longer for a robot that a second storm has brought back', async () => {
  await using fleet = await fleets.online('  - { do: storm, over: 0s }\n', { robots: 1 });
  const storm = { do: 'storm', over: '0s' } as const;
  await Promise.all([fleet.run(storm), fleet.runByHand(storm, 0, 'storm')]);
  expect((await fleet.measured()).counters['storm.errors']).toBe(0);
});

it('a scenario creates its releases even when another shard creates one in the same millisecond', async () => {
  vi.spyOn(Date, 'now').mockReturnValue(0);
  const shard = (index: number) => fleets.create('', { namePrefix: 'shards', shard: { index, count: 2 } });
  await using first = shard(1);
  await using second = shard(2);
  const releases = await Promise.all([first, second].map((fleet) => fleet.createRelease('phase 1')));
  expect(new Set(releases.map(({ releaseId }) => releaseId)).size).toBe(2);
});

const create = (options: Partial<FleetOptions> = {}) => fleets.create('', { robots: 4, ...options });

it('the canary of a fleet is a robot of the fleet, restarts with the others, and is not measured', async () => {
  const before = await devicesOf(fleets.platform);
  await using fleet = create({ defects: { 0: 'seam-gap' } });
  expect(await fleet.runCanary([])).toBeUndefined();
  expect(await devicesOf(fleets.platform)).toBe(before + 1);
  expect(await listOf(fleets.platform, `/devices?name=${fleet.robotName(1)}`)).toHaveLength(1);
  await fleet.prepare();
  expect((await fleet.measured()).metrics).toEqual({});
  await fleet.run({ do: 'ramp', over: '0s' });
  expect(fleet.record.notStarted).toBe(0);
  expect(await devicesOf(fleets.platform)).toBe(before + 4);
});

it('the canary of a fleet does not stop the fleet when only one robot is refused', async () => {
  const namePrefix = 'taken';
  await using _first = await fleets.online('', { robots: 1, namePrefix });
  await using second = create({ robots: 2, namePrefix, stateDir: `${fleets.stateDir}-other` });
  expect(await second.runCanary([])).toBeUndefined();
  await second.prepare();
  await second.run({ do: 'ramp', over: '0s' });
  expect(second.record.notStarted).toBe(1);
});

it('the canary of a fleet is followed by progress with the reason for a missing robot', async () => {
  await using fleet = create({ platform: { ...fleets.platform, mqttUrl: 'mqtt://127.0.0.1:1' } });
  await fleet.prepare();
  const ramp = fleet.run({ do: 'ramp', over: '0s' });
  await eventually(() => expect(fleet.record.progress.trouble).toMatch(/MQTT broker at mqtt:.*ECONNREFUSED/));
  await fleet.stop('abandon');
  await ramp.catch(() => {});
});
