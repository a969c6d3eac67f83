/** Runs in one process share nothing that they learn about their platforms. */
import { expect, it } from 'vitest';
import { resultsWith, runPlatformSuite } from '../../harness/tools/subjects/run.ts';
import { platformDefect } from '../../simulators/defects/platform/index.ts';
import { type PlatformBehaviour, referenceBehaviour, simulatePlatform } from '../../simulators/platform/index.ts';

const KEY = 'key_full_0123456789abcdefghij';

function platformFor(scopes: 'all' | string[], behaviour: PlatformBehaviour = referenceBehaviour) {
  return simulatePlatform({ seed: 1, mqtt: false, behaviour, keys: [{ key: KEY, name: 'key', scopes }] });
}

it('does not blame a 403 to one key for a write that another platform allowed', async () => {
  await using writable = await platformFor('all');
  await using readable = await platformFor(['config_types:read']);
  const run = { only: ['platform.config-type.slug'] };
  expect(resultsWith(await runPlatformSuite({ url: writable.url, apiKey: KEY }, run), 'pass')).toHaveLength(1);
  const report = await runPlatformSuite({ url: readable.url, apiKey: KEY }, run);
  expect(resultsWith(report, 'undecided').join()).toContain('the API key may not write');
});

it('finds a repeated token although another platform has issued tokens before', async () => {
  await using reference = await platformFor('all');
  await using repeating = await platformFor('all', platformDefect('token-repeated').behaviour(referenceBehaviour));
  const run = { only: ['platform.provisioning-token.rainier'] };
  expect(resultsWith(await runPlatformSuite({ url: reference.url, apiKey: KEY }, run), 'pass')).toHaveLength(1);
  const report = await runPlatformSuite({ url: repeating.url, apiKey: KEY }, run);
  expect(resultsWith(report, 'fail').join()).toContain('the same token twice');
});
