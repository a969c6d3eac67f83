import { expect, it } from 'vitest';
import { runPlatformSuite } from '../../../harness/tools/subjects/run.ts';
import { answers } from '../../../simulators/defects/define-platform.ts';
import { platformDefect } from '../../../simulators/defects/platform/index.ts';
import { referenceBehaviour, simulatePlatform } from '../../../simulators/platform/index.ts';

it('a list with null among its items is a finding, and does not end the exploration', async () => {
  const behaviour = platformDefect('items-null').behaviour(referenceBehaviour);
  await using platform = await simulatePlatform({ seed: 1, devices: 3, mqtt: false, behaviour });
  const { url, apiKey } = platform;
  const only = ['platform.list.envelope.explored', 'platform.version.malformed'];
  const { checks } = await runPlatformSuite({ url, apiKey }, { only, readOnly: true, fast: true });
  const ends = checks.map(({ id, outcome, fault = false }) => `${id} ${outcome}${fault ? ', fault' : ''}`);
  expect(ends).toContain('platform.list.envelope.explored fail');
  expect(ends).toContain('platform.version.malformed pass');
  expect(ends.filter((end) => end.endsWith('fault'))).toEqual([]);
});

it('a provisioning token under another name is only a warning', async () => {
  const renamed = answers('createProvisioningToken', ({ token, ...rest }) => ({ secret: token, ...rest }));
  const behaviour = { ...referenceBehaviour, ...renamed(referenceBehaviour) };
  await using platform = await simulatePlatform({ seed: 1, mqtt: false, behaviour });
  const { url, apiKey } = platform;
  const { checks } = await runPlatformSuite({ url, apiKey }, { only: ['platform.provisioning-token'], fast: true });
  expect(checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'blocked')).toEqual([]);
  expect(checks.some(({ outcome }) => outcome === 'warn')).toBe(true);
});
