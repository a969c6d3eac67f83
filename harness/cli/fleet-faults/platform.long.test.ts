import { expect, it } from 'vitest';
import { unlessSaturated } from '../testing/fleet-runs.ts';
import { FaultyProxy } from './testing/faulty-proxy.ts';
import { Scene } from './testing/scene.ts';

const phases = '  - { do: rollout, over: 1s, within: 90s }\n  - { do: rollout, over: 1s, within: 90s }\n';

it('rolls out through a platform that is slow and resets every third answer to robots, and names it', async () => {
  await using scene = new Scene();
  const platform = await scene.platform();
  await using proxy = await FaultyProxy.before(platform.agent_url);
  const fleet = scene.fleet({ phases, platform: { ...platform, agent_url: proxy.instead(platform.agent_url) } });
  await fleet.deployments(platform.url, 2);
  let answers = 0;
  proxy.delayMs = 100;
  proxy.resets = () => ++answers % 3 === 0;
  const { code, result, said } = await fleet.end();
  expect(answers).toBeGreaterThan(20);
  expect(result).toMatchObject({ complete: true, missed: [], violations: [] });
  expect(said).toMatch(
    /not by the scenario: \d+ requests of robots met a network error .*, the first with: [A-Z]+ \/agent/,
  );
  expect(result.verdict).not.toBe('valid');
  expect(code).toBe(unlessSaturated(0, result));
  await scene.agree(platform.url, 2);
});

it('counts the answers to the fleet itself that were reset, whose deployments arrive all the same', async () => {
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

it('ends incomplete when the platform resets what a roll-out needs first', async () => {
  await using scene = new Scene();
  const platform = await scene.platform();
  await using proxy = await FaultyProxy.before(platform.url);
  const fleet = scene.fleet({ phases, platform: { ...platform, url: proxy.instead(platform.url) } });
  await fleet.deployments(platform.url, 8);
  proxy.resets = () => true;
  const { code, result, said } = await fleet.end();
  expect(result.complete).toBe(false);
  expect(said).toMatch(/the phase rollout could not begin: (GET|POST) \/config_types/);
  expect(code).toBe(2);
});
