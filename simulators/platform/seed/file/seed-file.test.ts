/** A workspace from a file, read back over HTTP; and files that make none. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startPlatform } from '../../testing/client.ts';

const EXAMPLE = readFileSync(join(import.meta.dirname, '../../../../fixtures/workspaces/warehouse.yaml'), 'utf8');

it('the example is served as it is written, online devices included, and comes back with a reset', async () => {
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
  [
    'devices:\n  - { name: a }\n  - { name: b, status: asleep }\n',
    /^line 3: devices.1.status must be one of "inactive"/,
  ],
  ['devices:\n  - { nam: a }\n', /^line 2: devices.0 lacks "name"/],
  [
    'devices:\n  - { name: a, group: none }\n',
    /^line 2: devices.0.group names "none", which is not among the groups above/,
  ],
  ['devices:\n  - { name: a }\n  - { name: a }\n', /^line 3: devices.1 has the name of an earlier one/],
  [EXAMPLE.replace('max_speed: 2.5', 'max_speed: 9'), /^line 15: config_instances.1.content content does not satisfy/],
  [
    EXAMPLE.replace('[slow], status: queued', '[slow], status: drifted'),
    /deployments.3.status cannot be drifted: that takes/,
  ],
] as const)('%j is refused, with its line', async ([seedFile, message]) => {
  await expect(startPlatform({ seedFile })).rejects.toThrow(message);
});
