import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DEPLOYMENT_ACTIVITY_STATUSES, DEPLOYMENT_ERROR_STATUSES } from '../../../harness/contract/enums.ts';
import { RESOURCE_KINDS } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { type Item, startPlatform, walk } from '../testing/kit.ts';

async function workspace(devices: number, seed: string): Promise<Map<string, Item[]>> {
  await using platform = await startPlatform({ devices, seed });
  const all = new Map<string, Item[]>();
  for (const kind of RESOURCE_KINDS) all.set(kind, await walk(platform, `/${RESOURCES[kind].collection}`));
  return all;
}

it('a seeded workspace is the same for the same seed, and differs for another', async () => {
  const [one, again, other] = [await workspace(60, 'a'), await workspace(60, 'a'), await workspace(60, 'b')];
  expect([...again]).toEqual([...one]);
  expect(other.get('device')).not.toEqual(one.get('device'));
});

it('a seeded workspace has every state even when it is small', async () => {
  const all = await workspace(24, 'c');
  const values = (kind: string, field: string) => new Set(all.get(kind)?.map((item) => item[field]));
  expect(values('deployment', 'activity_status')).toEqual(new Set(DEPLOYMENT_ACTIVITY_STATUSES));
  expect(values('deployment', 'error_status')).toEqual(new Set(DEPLOYMENT_ERROR_STATUSES));
  expect(values('device', 'status')).toEqual(new Set(['inactive', 'offline', 'archived']));
  expect(all.get('device')).toHaveLength(24);
});

it('a seeded workspace lists the drifts of a drifted deployment, and deploys a staged one', async () => {
  await using platform = await startPlatform({ devices: 24, seed: 'e' });
  const [drifted] = await platform.items('/deployments?activity_status=drifted');
  expect(await platform.items(`/deployments/${drifted?.id}/drifts`)).not.toEqual([]);
  const [staged] = await platform.items('/deployments?activity_status=staged');
  expect((await platform.call('POST', `/deployments/${staged?.id}/deploy`)).body).toMatchObject({ status: 'queued' });
});

const EXAMPLE = readFileSync(join(import.meta.dirname, '../../../fixtures/workspaces/warehouse.yaml'), 'utf8');

it('the example workspace is served as written, and restored by a reset', async () => {
  await using platform = await startPlatform({ seedFile: EXAMPLE, control: { port: 0 } });
  const state = async () => {
    const devices = await platform.items('/devices?limit=100');
    const deployments = await platform.items('/deployments?limit=100');
    const nameOf = new Map(devices.map(({ id, name }) => [id, name]));
    return {
      devices: devices.map(({ name, status }) => `${name} ${status}`).sort(),
      deployments: deployments.map((item) => `${nameOf.get(String(item['device_id']))} ${item['status']}`).sort(),
    };
  };
  const expected = {
    devices: ['picker-1 online', 'picker-2 offline', 'picker-3 online', 'picker-4 archived', 'picker-5 inactive'],
    deployments: [
      ...['picker-1 deployed', 'picker-1 drifted', 'picker-1 staged'],
      ...['picker-2 queued', 'picker-3 failed', 'picker-3 retrying'],
    ],
  };
  expect(await state()).toEqual(expected);
  const online = (await platform.items('/devices?status=online'))[0]?.id;
  const ping = () => platform.post(`/devices/${online}/ping`, { timeout_nanos: 50_000_000 });
  expect((await ping()).body).toMatchObject({ code: 'success' });
  await platform.create('/devices', { name: 'another' });
  const headers = { authorization: `Bearer ${platform.controlToken}` };
  expect((await fetch(`${platform.controlUrl}/reset`, { method: 'POST', headers })).status).toBe(204);
  expect(await state()).toEqual(expected);
  expect((await ping()).body).toMatchObject({ code: 'success' });
});

it.for([
  ['device: [', /line 1/],
  ['devices:\n  - { name: a }\n  - { name: b, status: x }\n', /^line 3: devices.1.status must be one of "inactive"/],
  ['devices:\n  - { nam: a }\n', /^line 2: devices.0 lacks "name"/],
  ['devices:\n  - { name: a, group: none }\n', /^line 2: devices.0.group names "none", which is not among the groups/],
  ['devices:\n  - { name: a }\n  - { name: a }\n', /^line 3: devices.1 has the name of an earlier one/],
  [EXAMPLE.replace('max_speed: 2.5', 'max_speed: 9'), /^line \d+: config_instances.1 cannot be made: content does not/],
  [EXAMPLE.replace('[slow], status: queued', '[slow], status: drifted'), /3.status cannot be drifted: .* it is staged/],
] as const)('the seed file %j is refused with the line of its error', async ([seedFile, message]) => {
  await expect(startPlatform({ seedFile })).rejects.toThrow(message);
});
