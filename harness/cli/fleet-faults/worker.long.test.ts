import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { unlessSaturated } from '../testing/fleet-runs.ts';
import { Scene } from './testing/scene.ts';

it('names the pause of a worker that was stopped and continued in a roll-out', async () => {
  await using scene = new Scene();
  const platform = await scene.platform();
  const phases = '  - { do: rollout, over: 2s, within: 90s }\n  - { do: rollout, over: 500ms, within: 90s }\n';
  const fleet = scene.fleet({ phases, platform });
  await fleet.deployments(platform.url, 2);
  const [worker = 0] = fleet.workers();
  process.kill(worker, 'SIGSTOP');
  // The pause itself is what is tried.
  await delay(3000);
  process.kill(worker, 'SIGCONT');
  const { code, result, said } = await fleet.end();
  expect(result).toMatchObject({ complete: true, missed: [], violations: [] });
  expect(result.verdict).not.toBe('valid');
  expect(said).toMatch(/worker 1: it stood still for \d+\.\d s \(limit 2 s\)/);
  expect(code).toBe(unlessSaturated(0, result));
  await scene.agree(platform.url, 2);
});
