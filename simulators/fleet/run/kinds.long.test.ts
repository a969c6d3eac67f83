import { afterEach, expect, it, vi } from 'vitest';
import { eventually } from '../../common/testing/scratch.ts';
import { SimulatedDevice } from '../../device/index.ts';
import { disk } from '../../device/log/io.ts';
import { listOf, runAll, useFleets } from './testing/fleets.ts';

const fleets = useFleets();
afterEach(() => void vi.restoreAllMocks());
const noSpace = () => Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });

it('a scenario counts by class and phase, and agents report the version of their class', async () => {
  const classes = 'classes: { arm: { share: 75%, subscribers: 2, agent_version: v7.7.7 }, cart: { share: 25% } }';
  await using fleet = fleets.create(`
  - { do: rollout, class: arm, over: 100ms }
  - { do: rollout, over: 100ms }
${classes}`);
  await runAll(fleet);
  const { counters, metrics } = await fleet.measured();
  const { standing } = fleet.record;
  expect(counters).toMatchObject({
    'rollout.attempts': 9 + 12,
    'rollout.attempts{class=arm,phase=2-rollout}': 9,
    'rollout.attempts{class=arm,phase=3-rollout}': 9,
    'rollout.attempts{class=cart,phase=3-rollout}': 3,
    // Each robot of class `arm` sends three events: deployed, removed, deployed again.
    'sse.events': 2 * 9 * 3 + 3,
  });
  expect(counters['rollout.attempts{class=cart,phase=2-rollout}']).toBeUndefined();
  expect(metrics['rollout.ms{class=arm,phase=2-rollout}']?.count).toBe(9);
  const live = Object.entries(standing.metrics).filter(([name]) => /^rollout\.ms\b/.test(name));
  const count = (part: boolean) =>
    live.reduce((sum, [name, of]) => sum + (name.includes('{') === part ? of.count : 0), 0);
  expect(count(true)).toBe(count(false));
  const devices = await listOf<{ name: string; agent_version: string }>(fleets.platform, '/devices?limit=100');
  const own = devices.filter(({ name }) => name.startsWith(fleet.namePrefix));
  expect(own.filter(({ agent_version: version }) => version === 'v7.7.7')).toHaveLength(9);
  expect(own).toHaveLength(12);
});

it('a scenario has robots of several uplinks, and those that poll answer no ping', async () => {
  const classes = 'classes: { new: { share: 50% }, old: { share: 50%, uplink: polling } }';
  const pings = '{ do: hold, class: old, for: 200ms, ping: 10/s, arrivals: constant }';
  await using fleet = fleets.create(`  - { do: rollout, over: 100ms }\n  - ${pings}\npoll_every: 200ms\n${classes}\n`);
  expect(await fleet.runCanary([])).toBeUndefined();
  await runAll(fleet);
  const { counters, metrics } = await fleet.measured();
  expect(counters).toMatchObject({ 'rollout.attempts': 12, 'rollout.missed': 0 });
  expect(counters).toMatchObject({ 'ping.attempts': 2, 'ping.offline': 2, 'ping.errors': 0, 'http.errors': 0 });
  // Six robots report, because polling robots report nothing.
  expect(metrics['rollout.report.ms']?.count).toBe(6);
});

it.each(['kill, over: 0s, down: 100ms', 'partition, for: 100ms'])(
  'a scenario blames a full disk in { do: %s } on no stream and no platform',
  async (phase) => {
    await using fleet = fleets.create(`  - { do: ${phase}, events: 5 }\n`, { robots: 2 });
    const { publish } = SimulatedDevice.prototype;
    vi.spyOn(SimulatedDevice.prototype, 'publish').mockImplementation(async function (this: SimulatedDevice, count) {
      await publish.call(this, count);
      throw noSpace();
    });
    await runAll(fleet);
    expect(fleet.record.violations).toEqual([]);
    const { counters, verdict } = await fleet.measured();
    expect(counters).toMatchObject({ exhausted: 2 });
    expect(verdict).toBe('invalid');
    await eventually(() => expect(fleet.record.second(2).robots).toEqual({ online: 2 }));
  },
);

it('a scenario blames a full disk in a roll-out on this machine', async () => {
  await using fleet = await fleets.online('  - { do: rollout, over: 0s, within: 200ms }\n', { robots: 2 });
  vi.spyOn(disk, 'write').mockImplementation(() => {
    throw noSpace();
  });
  await fleet.run({ do: 'rollout', over: '0s', within: '200ms' });
  // A robot may sync after its roll-out is missed.
  const { verdict, verdict_reasons: reasons } = await eventually(async () => {
    const measured = await fleet.measured();
    expect(measured.counters['exhausted']).toBeGreaterThanOrEqual(2);
    return measured;
  });
  expect(verdict).toBe('invalid');
  expect(reasons.join('\n')).toContain('syncs of robots failed, the first with: cannot write the config files: ENOSPC');
});

it('a scenario has robots that return with a full log, to clients with expired cursors', async () => {
  await using fleet = fleets.create(`
  - { do: rollout, over: 0s }
  - { do: kill, over: 0s, down: 100ms, events: 500 }
  - { do: partition, share: 50%, for: 100ms, events: 500 }
  - { do: rollout, over: 0s }`);
  await runAll(fleet);
  const { counters } = await fleet.measured();
  expect(fleet.record.violations).toEqual([]);
  expect(counters).toMatchObject({ 'rollout.attempts': 24, 'rollout.missed': 0 });
  expect(counters['subscriber.expired']).toBeGreaterThan(0);
});
