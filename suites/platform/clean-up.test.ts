import { expect, it } from 'vitest';
import { NEWEST_VERSION } from '../../harness/contract/versions.ts';
import { resultsWith, runPlatformSuite } from '../../harness/tools/subjects/run.ts';
import { platformDefect } from '../../simulators/defects/platform/index.ts';
import { referenceBehaviour, simulatePlatform } from '../../simulators/platform/index.ts';

it('archives staged deployments after a failure', async () => {
  const behaviour = platformDefect('replaced-is-staged-again').behaviour(referenceBehaviour);
  await using platform = await simulatePlatform({ seed: 1, mqtt: false, behaviour });
  const { url, apiKey } = platform;
  const report = await runPlatformSuite({ url, apiKey }, { only: ['platform.deployment.forward-only'] });
  expect(resultsWith(report, 'warn')).toHaveLength(1);
  // Evidence of a finding must not contain the clean-up.
  const [{ exchanges = [], script = '', curl = '' } = {}] = report.checks;
  expect(exchanges.length).toBeGreaterThan(0);
  expect(exchanges.filter(({ url }) => url.endsWith('/archive'))).toEqual([]);
  expect(`${script}${curl}`).not.toContain('/archive');
  const response = await fetch(`${url}/deployments?limit=100`, {
    headers: { 'x-api-key': apiKey, 'service-version': NEWEST_VERSION },
  });
  const { data } = (await response.json()) as { data: { target_status: string }[] };
  const targets = data.map(({ target_status: target }) => target);
  expect(targets).toContain('archived');
  expect(targets).not.toContain('staged');
});
