import { describe, expect, it } from 'vitest';
import { createDevice, createKit, deploymentBody, refusal, startPlatform } from './testing/kit.ts';

describe('a list', () => {
  it.for([
    ['/devices?order_by=name', 'order_by'],
    ['/devices?order_by=id:up', 'order_by'],
    ['/devices?order_by=id:asc:desc', 'order_by'],
    ['/devices?expand=__proto__', 'expand'],
    ['/devices?expand=current_deployment.total_count', 'expand'],
    ['/devices?expand=current_deployment.device.current_deployment.device.group', 'expand'],
    ['/devices?status=onlin', 'status'],
    ['/deployments?error_status=none|some', 'error_status'],
    [`/devices?id=${'a|'.repeat(1001)}`, 'id'],
  ] as const)('refuses %s', async ([path, parameter]) => {
    await using platform = await startPlatform();
    expect(await platform.get(path)).toMatchObject(refusal(400, 'invalid_parameter', { params: { parameter } }));
  });

  it('finds a name with commas, and each of several names between commas', async () => {
    await using platform = await startPlatform({ devices: 1, seed: 1 });
    for (const name of ['left, right', 'left', 'right']) await platform.post('/devices', { name });
    const names = async (query: string) => (await platform.items(`/devices?${query}`)).map((item) => item['name']);
    expect(await names('name=left,%20right')).toEqual(['left, right']);
    expect((await names('name=left,right')).sort()).toEqual(['left', 'right']);
    expect((await names('name=left,%20right&name=left,right')).sort()).toEqual(['left', 'left, right', 'right']);
  });

  it.for([
    ['devices', 'group'],
    ['deployments', 'device'],
    ['releases', 'config_schemas'],
  ])('shows %s as well without an expansion as with one', async ([collection = '', expansion = '']) => {
    await using platform = await startPlatform({ devices: 50, seed: 1 });
    const kit = await createKit(platform);
    const odd = { ...deploymentBody(kit, await createDevice(platform), 'staged'), description: 'a"\\/\n\t ü🤖\u2028' };
    await platform.create('/deployments', odd);
    await platform.create('/devices', { name: '"\\🤖' });
    const expanded = await platform.items(`/${collection}?expand=${expansion}`);
    for (const item of expanded) delete (item as Record<string, unknown>)[expansion];
    expect(expanded.length).toBeGreaterThan(0);
    // The third time comes from the cache.
    for (let time = 0; time < 3; time += 1)
      expect(JSON.stringify(await platform.items(`/${collection}`))).toBe(JSON.stringify(expanded));
  });
});
