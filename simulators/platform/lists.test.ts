import { expect, it } from 'vitest';
import { refusal, startPlatform } from './testing/kit.ts';

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
] as const)('a list refuses %s', async ([path, parameter]) => {
  await using platform = await startPlatform();
  expect(await platform.get(path)).toMatchObject(refusal(400, 'invalid_parameter', { params: { parameter } }));
});

it('a list finds a name with commas, and each of several names between commas', async () => {
  await using platform = await startPlatform({ devices: 1, seed: 1 });
  for (const name of ['left, right', 'left', 'right']) await platform.post('/devices', { name });
  const names = async (query: string) => (await platform.items(`/devices?${query}`)).map((item) => item['name']);
  expect(await names('name=left,%20right')).toEqual(['left, right']);
  expect((await names('name=left,right')).sort()).toEqual(['left', 'right']);
  expect((await names('name=left,%20right&name=left,right')).sort()).toEqual(['left', 'left, right', 'right']);
});
