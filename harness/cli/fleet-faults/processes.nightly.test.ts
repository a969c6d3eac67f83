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
