/** Lists over HTTP: pages, filters and expansions. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RESOURCE_KINDS } from '../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../harness/contract/platform/operations.ts';
import { type Item, refusal, startPlatform, type TestPlatform, walk } from './testing/kit.ts';

describe('every list', () => {
  let platform: TestPlatform;
  const models = new Map<string, Item[]>();

  beforeAll(async () => {
    platform = await startPlatform({ devices: 130, seed: 5 });
    for (const kind of RESOURCE_KINDS) {
      models.set(kind, await walk(platform, `/${RESOURCES[kind].collection}?order_by=id:asc`));
    }
  });
  afterAll(() => platform.stop());

  it.for(RESOURCE_KINDS)('%s: each filter yields exactly the items with its values', async (kind) => {
    const { collection, filters } = RESOURCES[kind];
    const model = models.get(kind) ?? [];
    const ids = encodeURIComponent(model.map(({ id }) => id).join('|'));
    for (const field of Object.keys(filters)) {
      const shown = model.filter((item) => typeof item[field] === 'string');
      const values = [...new Set(shown.map((item) => String(item[field])))].slice(0, 2);
      if (shown.length === 0) {
        expect(`${kind} ${field}`).toBe('device current_release_id');
        continue;
      }
      const encoded = values.map((value) => encodeURIComponent(value));
      const forms = [encoded.join('%7C'), encoded.join(','), encoded.join('%2C'), encoded.join(`&${field}=`)];
      const narrowed = field === 'id' ? '' : `&id=${ids}`;
      for (const form of forms) {
        const found = await walk(platform, `/${collection}?${field}=${form}${narrowed}&order_by=id:asc`);
        expect(found).toEqual(model.filter((item) => values.includes(String(item[field]))));
      }
      const one = await walk(platform, `/${collection}?${field}=${encoded[0]}${narrowed}&order_by=id:asc`);
      expect(one).toEqual(model.filter((item) => item[field] === values[0]));
      for (const nothing of ['', ',', '%7C', `&${field}=`]) {
        const whole = await walk(platform, `/${collection}?${field}=${nothing}&order_by=id:asc`);
        expect(whole.filter(({ id }) => model.some((item) => item.id === id))).toEqual(model);
      }
    }
  });
});

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

  it('a name with commas is found whole, and each of several names apart', async () => {
    await using platform = await startPlatform({ devices: 1, seed: 1 });
    for (const name of ['left, right', 'left', 'right']) await platform.post('/devices', { name });
    const names = async (query: string) => (await platform.items(`/devices?${query}`)).map((item) => item['name']);
    expect(await names('name=left,%20right')).toEqual(['left, right']);
    expect((await names('name=left,right')).sort()).toEqual(['left', 'right']);
    expect((await names('name=left,%20right&name=left,right')).sort()).toEqual(['left', 'left, right', 'right']);
  });
});
