import { expect, it } from 'vitest';
import { runPlatformSuite } from '../../../harness/tools/subjects/run.ts';
import { answers } from '../../../simulators/defects/define-platform.ts';
import { platformDefect } from '../../../simulators/defects/platform/index.ts';
import { referenceBehaviour, simulatePlatform } from '../../../simulators/platform/index.ts';
import { startPlatform } from '../../../simulators/platform/testing/kit.ts';
import { boundsOf } from './checks.ts';

async function checksOf(
  simulated: Parameters<typeof simulatePlatform>[0],
  options: Parameters<typeof runPlatformSuite>[1],
  place: object = {},
) {
  await using platform = await simulatePlatform({ seed: 1, mqtt: false, ...simulated });
  const { url, apiKey } = platform;
  const { checks } = await runPlatformSuite({ url, apiKey, ...place }, options);
  return checks;
}

it('a list with null among its items is a finding, and does not end the exploration', async () => {
  const behaviour = platformDefect('items-null').behaviour(referenceBehaviour);
  const only = ['platform.list.envelope.explored', 'platform.version.malformed'];
  const checks = await checksOf({ devices: 3, behaviour }, { only, readOnly: true, fast: true });
  const ends = checks.map(({ id, outcome, fault = false }) => `${id} ${outcome}${fault ? ', fault' : ''}`);
  expect(ends).toContain('platform.list.envelope.explored fail');
  expect(ends).toContain('platform.version.malformed pass');
  expect(ends.filter((end) => end.endsWith('fault'))).toEqual([]);
});

it.each([
  [0.4, 0.75],
  [1, 1],
  [3, 3],
])('an exploration of %d runs has %d times the usual requests', (runs, times) => {
  const { requests, least } = boundsOf(runs);
  expect(requests / boundsOf(1).requests).toBe(times);
  expect(least).toBeLessThanOrEqual(requests);
});

it('a provisioning token under another name is only a warning', async () => {
  const renamed = answers('createProvisioningToken', ({ token, ...rest }) => ({ secret: token, ...rest }));
  const behaviour = { ...referenceBehaviour, ...renamed(referenceBehaviour) };
  const checks = await checksOf({ behaviour }, { only: ['platform.provisioning-token'], fast: true });
  expect(checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'blocked')).toEqual([]);
  expect(checks.some(({ outcome }) => outcome === 'warn')).toBe(true);
});

it('a read-only run passes no check of writes, or of states that it has not seen', async () => {
  const only = [
    ...['platform.deployment.removing', 'platform.device.archived', 'platform.auth.key-required.writes'],
    ...['platform.auth.key-wrong.operations', 'platform.version.end-of-life.operations'],
  ];
  const checks = await checksOf({ devices: 1 }, { only, readOnly: true, fast: true });
  const ends = checks.filter(({ id }) => only.includes(id)).map(({ id, outcome }) => `${id} ${outcome}`);
  expect(ends.toSorted()).toEqual(only.map((id) => `${id} not_applicable`).toSorted());
});

it.each([
  ['online', 'success', 'undecided'],
  ['offline', 'timeout', 'blocked'],
])('an %s device that does not exist leaves the %s of pings %s', async (state, what, due) => {
  const options = { only: [`platform.ping.${what}`], runs: 0.4 };
  const checks = await checksOf({}, options, { [`${state}Device`]: 'dvc_gone' });
  expect(checks.find(({ id }) => id === `platform.ping.${what}`)?.outcome).toBe(due);
});

it.each(['timeout', 'limit'])('a device that has come online leaves the %s of pings blocked', async (what) => {
  const behaviour = {
    ...referenceBehaviour,
    resource: (_: unknown, resource: object) => ({ ...resource, status: 'online' }),
    pingTimeout: () => 1_000_000,
    pingAnswer: () => ({ status: 200, body: { code: 'success', round_trip_nanos: 1000 } }),
  };
  await using platform = await startPlatform({ seed: 1, devices: 3, behaviour });
  const { url, apiKey } = platform;
  const offlineDevice = (await platform.items('/devices'))[0]?.id ?? '';
  const only = [`platform.ping.${what}`];
  const { checks } = await runPlatformSuite({ url, apiKey, offlineDevice }, { only, runs: 0.4 });
  expect(checks.find(({ id }) => id === only[0])?.reason).toBe(`${offlineDevice} has come online meanwhile`);
});
