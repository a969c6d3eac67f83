import { expect, it } from 'vitest';
import { resultsWith, runPlatformSuite } from '../../harness/tools/subjects/run.ts';
import { platformDefect } from '../../simulators/defects/platform/index.ts';
import { type PlatformBehaviour, referenceBehaviour, simulatePlatform } from '../../simulators/platform/index.ts';

const KEY = 'key_full_0123456789abcdefghij';

function platformWith(behaviour: PlatformBehaviour) {
  return simulatePlatform({ seed: 1, mqtt: false, behaviour, keys: [{ key: KEY, name: 'key', scopes: 'all' }] });
}

it('finds a repeated token although another platform has issued tokens before', async () => {
  await using reference = await platformWith(referenceBehaviour);
  await using repeating = await platformWith(platformDefect('token-repeated').behaviour(referenceBehaviour));
  const run = { only: ['platform.provisioning-token.rainier'] };
  expect(resultsWith(await runPlatformSuite({ url: reference.url, apiKey: KEY }, run), 'pass')).toHaveLength(1);
  const report = await runPlatformSuite({ url: repeating.url, apiKey: KEY }, run);
  expect(resultsWith(report, 'fail').join()).toContain('the same token twice');
});
