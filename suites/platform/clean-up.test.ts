import { expect, it } from 'vitest';
import { resultsWith, runPlatformSuite } from '../../harness/tools/subjects/run.ts';
import { platformDefect } from '../../simulators/defects/platform/index.ts';
import { referenceBehaviour } from '../../simulators/platform/index.ts';
import { startPlatform } from '../../simulators/platform/testing/kit.ts';

it('archives staged deployments after a failure', async () => {
  const behaviour = platformDefect('replaced-is-staged-again').behaviour(referenceBehaviour);
  await using platform = await startPlatform({ seed: 1, behaviour });
  const { url, apiKey } = platform;
  const report = await runPlatformSuite({ url, apiKey }, { only: ['platform.deployment.forward-only'] });
  expect(resultsWith(report, 'warn')).toHaveLength(1);
  // Evidence of a finding must not contain the clean-up.
  const [{ exchanges = [], script = '', curl = '' } = {}] = report.checks;
  expect(exchanges.length).toBeGreaterThan(0);
  expect(exchanges.filter(({ url }) => url.endsWith('/archive'))).toEqual([]);
  expect(`${script}${curl}`).not.toContain('/archive');
  const targets = (await platform.items('/deployments?limit=100')).map(({ target_status: target }) => target);
  expect(targets).toContain('archived');
  expect(targets).not.toContain('staged');
});
