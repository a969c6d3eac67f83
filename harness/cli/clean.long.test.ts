import { writeFileSync } from 'node:fs';
import { createServer as createServerOfHttp } from 'node:http';
import { createServer } from 'node:net';
import { expect, it, vi } from 'vitest';
import { listenAt } from '../../simulators/defects/null.ts';
import { PlatformClient } from '../../simulators/fleet/platform/client.ts';
import { listOf, useFleets } from '../../simulators/fleet/run/testing/fleets.ts';
import { isOwnName, recordName } from '../common/names.ts';
import { shape, Type } from '../contract/shape.ts';
import { muster, printed, refusal, typed, useFolder } from './testing/muster.ts';

const fleets = useFleets();
const at = useFolder();
writeFileSync(at('read-only.yaml'), 'platform: { read_only: true }\n');
const created = shape('resource', Type.Object({ id: Type.String() }));

it('clean platform archives deployments that runs left on their own devices, and no others', async () => {
  const { url, apiKey } = fleets.platform;
  const client = new PlatformClient(fleets.platform);
  const named = async (name: string): Promise<string> =>
    (await client.ask({ method: 'POST', path: '/devices', body: { name } }, created)).id;
  const [own, numbered, other] = [
    await named(recordName('device')),
    await named('mustern977qpx12'),
    await named('mustermann'),
  ];
  const release = await client.createReleaseFixture('clean', '{}');
  const staged = { target_status: 'staged', release_id: release.releaseId, description: 'of a run that was killed' };
  for (const device_id of [own, numbered, other]) {
    const body = { ...staged, device_id, config_instance_ids: release.configInstanceIds };
    await client.ask({ method: 'POST', path: '/deployments', body }, created);
  }
  await client.deploy(numbered, release, 'queued: no platform archives it');
  await client.close();
  const targets = async (): Promise<string[]> =>
    (await listOf<{ device_id: string; target_status: string }>(fleets.platform, '/deployments'))
      .map(({ device_id, target_status }) => `${[own, numbered, other].indexOf(device_id)} ${target_status}`)
      .toSorted();
  const cleaned = async (...more: string[]): Promise<[number, string]> => {
    const { code, text } = await printed(typed`clean platform --url ${url} --api-key ${apiKey} ${more}`);
    return [code, text];
  };

  const before = await targets();
  expect(before).toEqual(['0 staged', '1 deployed', '1 staged', '2 staged']);
  expect(await cleaned('--dry-run')).toEqual([0, expect.stringMatching(/^3 deployments are not/)]);
  expect(await targets()).toEqual(before);
  expect(await cleaned()).toEqual([0, expect.stringMatching(/^2 of 3 deployments archived; 1 could/)]);
  expect(await targets()).toEqual(['0 archived', '1 archived', '1 deployed', '2 staged']);
  const stays = /^0 of 1 .*\n.*: 2 devices, \d+ groups, \d+ config types\.\nReleases stay too;/;
  expect(await cleaned()).toEqual([0, expect.stringMatching(stays)]);
});

it('clean platform refuses a wrong URL, and masks the key in an answer', async () => {
  expect(await refusal(typed`clean platform --api-key k`)).toBe('--url: missing');
  expect(await refusal(typed`clean platform --api-key k --url x`)).toContain("--url: 'x' is no address");
  const server = createServerOfHttp(({ headers }, answer) => {
    answer.writeHead(401).end(`no such key: ${headers['x-api-key']}`);
  });
  await using listening = await listenAt(server, { port: 0 });
  const url = `${listening.address}/beta`;
  const { code, stdout, stderr } = await muster('clean', 'platform', '--url', url, '--api-key', 'key-of-ours-7f3a9c1e');
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('GET /devices: HTTP 401 no such key: ');
  expect(stderr).not.toContain('7f3a9c1e');
});

it('isOwnName accepts record names of runs and rejects similar names', () => {
  for (const name of [
    recordName('device'),
    `é ${recordName('config-type')}`,
    'muster1vk3zzx4',
    recordName('type').replaceAll('-', ''),
    'Gerät Ñandú mustern977qpx306',
  ])
    expect([name, isOwnName(name)]).toEqual([name, true]);
  for (const name of ['muster', 'mustermann-12', 'Muster-1', 'muster-fleet', 'robot-000042', 'clustermuster1x2'])
    expect([name, isOwnName(name)]).toEqual([name, false]);
});

async function devicesOfDryRun(more: readonly string[]): Promise<number> {
  let connections = 0;
  await using listening = await listenAt(
    createServer(() => (connections += 1)),
    { port: 0 },
  );
  const url = `${listening.address}/beta`;
  const words = typed`check platform --url ${url} --dry-run --fast --seed 5 --only platform.device.* ${more}`;
  const said = vi.spyOn(process.stderr, 'write');
  const { code, text } = await printed(words);
  expect([code, connections]).toEqual([0, 0]);
  expect(said.mock.calls.join()).not.toContain('records that this run makes');
  said.mockRestore();
  expect(text).toContain(`would make on ${url}`);
  return Number(/^ {2}devices +(\d+)$/m.exec(text)?.[1]);
}

it('check platform --dry-run counts the records of each round, and sends nothing to the platform', async () => {
  const once = await devicesOfDryRun([]);
  expect(once).toBeGreaterThan(0);
  expect(await devicesOfDryRun(['--repeat', '2'])).toBeGreaterThan(once);
});

const READ_ONLY = ['--read-only', `--target=${at('read-only.yaml')}`];

it.each(READ_ONLY)('check platform --dry-run %s counts no record', async (option) => {
  expect(await devicesOfDryRun([option])).toBe(0);
});
