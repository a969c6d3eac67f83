import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { unlessSaturated } from '../testing/muster.ts';
import { rollouts, Scene } from './testing/faulted-fleet.ts';
import { FaultyProxy, noFaketime, turnableClock } from './testing/faults.ts';

const phases = rollouts('1s', '1s');

it('a fleet rolls out despite slow and reset answers to robots, and names them', async () => {
  await using scene = new Scene();
  const platform = await scene.platform();
  await using proxy = await FaultyProxy.before(platform.agent_url);
  const fleet = scene.fleet({ phases, platform: { ...platform, agent_url: proxy.instead(platform.agent_url) } });
  await fleet.deployments(platform.url, 2);
  let answers = 0;
  proxy.delayMs = 100;
  proxy.resets = () => ++answers % 3 === 0;
  const { result, said } = await fleet.endsWell(platform.url, 2);
  expect(answers).toBeGreaterThan(20);
  expect(said).toMatch(
    /not by the scenario: \d+ requests of robots met a network error .*, the first with: [A-Z]+ \/agent/,
  );
  expect(result.verdict).not.toBe('valid');
});

it('a fleet counts its requests with reset answers, and their deployments still arrive', async () => {
  await using scene = new Scene();
  const platform = await scene.platform();
  await using proxy = await FaultyProxy.before(platform.url);
  const fleet = scene.fleet({
    phases: `${phases}  - { do: hold, for: 2s }\n`,
    platform: { ...platform, url: proxy.instead(platform.url) },
  });
  await fleet.deployments(platform.url, 1);
  proxy.resets = (piece) => /"object":"deployment"/.test(piece.toString());
  await fleet.deployments(platform.url, 16);
  const { code, result, said } = await fleet.end();
  expect(result.counters['http.errors']).toBeGreaterThan(8);
  expect(said).toMatch(/failed: rollout of robot-\d+: POST \/deployments: /);
  expect(code).toBe(unlessSaturated(99, result));
  await scene.agree(platform.url, 2, 1);
});

it('a fleet ends incomplete when the platform resets the first requests of a roll-out', async () => {
  await using scene = new Scene();
  const platform = await scene.platform();
  await using proxy = await FaultyProxy.before(platform.url);
  const fleet = scene.fleet({ phases, platform: { ...platform, url: proxy.instead(platform.url) } });
  await fleet.deployments(platform.url, 8);
  proxy.resets = () => true;
  const { code, result, said } = await fleet.end();
  expect(result.complete).toBe(false);
  // The resets may begin between two of the first requests of the roll-out, so any of these may fail.
  expect(said).toMatch(/the phase rollout could not begin: (GET|POST) \/config_/);
  expect(code).toBe(2);
});

it('a fleet names the pause of a worker suspended during a roll-out', async () => {
  await using scene = new Scene();
  const platform = await scene.platform();
  const fleet = scene.fleet({ phases: rollouts('2s', '500ms'), platform });
  await fleet.deployments(platform.url, 2);
  const [worker = 0] = fleet.workers();
  process.kill(worker, 'SIGSTOP');
  await delay(3000);
  process.kill(worker, 'SIGCONT');
  const { result, said } = await fleet.endsWell(platform.url, 2);
  expect(result.verdict).not.toBe('valid');
  expect(said).toMatch(/worker 1: it stood still for \d+\.\d s \(limit 2 s\)/);
});

it.skipIf(noFaketime !== '')(`a fleet rolls out while the clock jumps forward and back${noFaketime}`, async () => {
  await using scene = new Scene();
  const { turn, env } = turnableClock(scene.path('clock'));
  const platform = await scene.platform({}, { env });
  const fleet = scene.fleet({ phases: rollouts('1s', '1s', '1s', '1s', '1s'), platform, env });
  for (const [done, by] of ['+1h', '-1h', '+1y', '-1y'].entries()) {
    await fleet.deployments(platform.url, done * 8 + 3);
    turn(by);
  }
  const { result } = await fleet.endsWell(platform.url, 5);
  expect(result.duration_ms).toBeLessThan(3_600_000);
  const year = new Date().getFullYear();
  const years = scene.robots().flatMap(({ occurredAt }) => occurredAt.map((at) => new Date(at).getFullYear()));
  expect(new Set(years)).toEqual(new Set([year, year + 1, year - 1]));
});

it.skipIf(noFaketime !== '')(`a fleet names failed syncs when a platform is an hour fast${noFaketime}`, async () => {
  await using scene = new Scene();
  const { turn, env } = turnableClock(scene.path('clock'));
  const platform = await scene.platform({}, { env });
  const missed = '  - { do: rollout, over: 1s, within: 6s }\n';
  const fleet = scene.fleet({ phases: rollouts('500ms') + missed + rollouts('500ms'), platform });
  await fleet.deployments(platform.url, 9);
  turn('+1h');
  await fleet.deployments(platform.url, 17);
  turn('+0');
  const { code, result, said } = await fleet.end();
  expect(result).toMatchObject({ complete: true, violations: [] });
  expect(result.missed.length).toBeGreaterThan(0);
  expect(said).toMatch(/not by the scenario: \d+ syncs of robots failed, the first with: HTTP 401 .* has expired/);
  expect(code).toBe(unlessSaturated(99, result));
  await scene.agree(platform.url, 3, 1);
});
