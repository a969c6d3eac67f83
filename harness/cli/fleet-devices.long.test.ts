/** Devices of the user's own, of each form of file, on a platform. */
import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PlatformClient } from '../../simulators/fleet/platform/client.ts';
import { listOf, runAll, useFleets } from '../../simulators/fleet/run/testing/fleets.ts';
import { idsFrom, tokensFrom } from './fleet-devices.ts';
import { useFolder } from './testing/muster.ts';

const at = useFolder();
const fleets = useFleets();

it('robots are the devices of a file: first by their tokens, then by their keys, then by their ids', async () => {
  const client = new PlatformClient(fleets.platform);
  const tokens = [await client.provisioningToken(), await client.provisioningToken()];
  await client.close();
  writeFileSync(at('tokens.csv'), `id,token\n,${tokens[0]}\n,${tokens[1]}\n`);
  const robots = 2;
  const own = tokensFrom(at('tokens.csv'), robots);
  await using first = fleets.create('', { robots, offer: { own } });
  expect(await first.runCanary([])).toBeUndefined();
  await runAll(first);
  expect(first.record.notStarted).toBe(0);
  const devices = await listOf<{ id: string; name: string }>(fleets.platform, '/devices');
  const named = devices.toSorted((a, b) => a.name.localeCompare(b.name));
  expect(named).toHaveLength(robots);
  for (const [robot] of named.entries())
    copyFileSync(join(first.robotDir(robot), 'identity', 'private-key.pem'), at(`${robot}.pem`));
  await first.stop();

  const lines = named.map(({ id }, robot) => `${JSON.stringify({ id, key: `${robot}.pem` })}\n`);
  writeFileSync(at('devices.jsonl'), lines.join(''));
  await using second = fleets.create('', { robots, offer: { own: tokensFrom(at('devices.jsonl'), robots) } });
  expect(await second.runCanary([])).toBeUndefined();
  await runAll(second);
  expect(second.record.notStarted).toBe(0);
  expect(await listOf(fleets.platform, '/devices')).toHaveLength(robots);
  await second.stop();

  const yaml = '  - { do: hold, for: 1s, reads: 20/s }\nuplink: calls\n';
  await using third = fleets.create(yaml, { robots, offer: { devices: idsFrom(at('devices.jsonl')) } });
  await runAll(third);
  expect((await third.measured()).counters).toMatchObject({ 'http.errors': 0 });
});

it('a key that no device has is said, with its line', async () => {
  writeFileSync(at('unknown.csv'), 'key\nfresh.pem\n');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
  writeFileSync(at('fresh.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await using fleet = fleets.create('', { robots: 1, offer: { own: tokensFrom(at('unknown.csv'), 1) } });
  expect(await fleet.runCanary([])).toMatch(
    /the platform knows no device with this key .*; the platform does not take what line 2 of --tokens has$/,
  );
});
