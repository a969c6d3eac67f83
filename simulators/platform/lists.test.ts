/** Lists over HTTP: pages, filters and expansions. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RESOURCE_KINDS } from '../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../harness/contract/platform/operations.ts';
import { createKit, type Item, refusal, startPlatform, type TestPlatform, walk } from './testing/kit.ts';

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

  it('devices can be filtered by current release together with another filter', async () => {
    const devices = await platform.items('/devices?expand=current_release&limit=100&order_by=created_at:asc');
    const releaseOf = (item: Item) => (item['current_release'] as Item | null)?.id;
    const release = devices.map(releaseOf).find((id) => id !== undefined);
    const found = await walk(
      platform,
      `/devices?current_release_id=${release}&status=offline|online&expand=current_release`,
      7,
    );
    expect(found.length).toBeGreaterThan(0);
    expect(found.every((item) => releaseOf(item) === release && item['status'] === 'offline')).toBe(true);
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

  it('several expansions and orders are taken in every form of a list', async () => {
    await using platform = await startPlatform({ devices: 12, seed: 1 });
    const plain = await platform.get('/devices?expand=total_count&expand=group&order_by=created_at:asc&order_by=id');
    expect(plain.status).toBe(200);
    for (const query of [
      'expand=total_count,group&order_by=created_at:asc,id',
      'expand=total_count%7Cgroup&order_by=created_at:asc%7Cid',
    ])
      expect((await platform.get(`/devices?${query}`)).text).toBe(plain.text);
  });

  it('accepts any text as the value of a filter, and finds nothing by it', async () => {
    await using platform = await startPlatform({ devices: 12, seed: 1 });
    for (const value of ['%00', "'; DROP TABLE devices; --", '%F0%9F%A4%96', '*', '%25', 'null']) {
      expect((await platform.get(`/devices?name=${value}&group_id=${value}&expand=total_count`)).body).toMatchObject({
        data: [],
        total_count: 0,
        has_more: false,
      });
    }
  });
});

describe('expansions', () => {
  it('are present only when asked for, and nest', async () => {
    await using platform = await startPlatform();
    const kit = await createKit(platform);
    const device = await platform.create('/devices', { name: 'robot' });
    const deployment = await platform.create('/deployments?expand=release.config_schemas.config_type&expand=device', {
      target_status: 'deployed',
      description: '',
      release_id: kit.release,
      device_id: device.id,
      config_instance_ids: [kit.instance],
    });
    expect(deployment).toMatchObject({
      device: { id: device.id },
      release: { id: kit.release, config_schemas: [{ id: kit.schema, config_type: { id: kit.type } }] },
    });
    expect(deployment).not.toHaveProperty('config_instances');
    expect((await platform.get(`/devices/${device.id}`)).body).not.toHaveProperty('current_release');
    expect((await platform.get(`/devices/${device.id}?expand=current_release&expand[]=group`)).body).toMatchObject({
      current_release: null,
      group: null,
    });
  });

  it('show the new name of a config type wherever it appears', async () => {
    await using platform = await startPlatform();
    const kit = await createKit(platform);
    const name = async () => (await platform.items('/config_instances'))[0]?.['config_type_name'];
    const before = await name();
    await platform.call('PATCH', `/config_types/${kit.type}`, { name: 'Another' });
    expect([before, await name()]).toEqual([before, 'Another']);
    expect((await platform.items('/config_schemas'))[0]?.['config_type_name']).toBe('Another');
  });
});
