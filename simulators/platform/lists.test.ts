/** Lists over HTTP: filters, expansions, and a walk that agrees with a model while others write. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RESOURCE_KINDS } from '../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../harness/contract/platform/operations.ts';
import { type Json, startPlatform, type TestPlatform } from './testing/client.ts';
import { createKit, unique } from './testing/kit.ts';

type Item = Json & { id: string };

async function walk(platform: TestPlatform, path: string, limit: number): Promise<Item[]> {
  const items: Item[] = [];
  for (;;) {
    const { body } = await platform.get(`${path}&limit=${limit}&offset=${items.length}`);
    const data = body['data'] as Item[];
    expect(data.length).toBe(body['has_more'] ? limit : data.length);
    items.push(...data);
    if (!body['has_more']) return items;
    if (data.length === 0) throw new Error('has_more on an empty page');
  }
}

describe('every list', () => {
  let platform: TestPlatform;
  const models = new Map<string, Item[]>();

  beforeAll(async () => {
    platform = await startPlatform({ devices: 130, seed: 5 });
    for (const kind of RESOURCE_KINDS) {
      const { collection } = RESOURCES[kind];
      models.set(kind, await walk(platform, `/${collection}?order_by=id:asc`, 100));
    }
  });
  afterAll(() => platform.stop());

  const newestFirst = (items: readonly Item[]): Item[] =>
    items.toSorted((left, right) => {
      const [a, b] = [String(left['created_at']), String(right['created_at'])];
      return a === b ? (left.id < right.id ? -1 : 1) : a < b ? 1 : -1;
    });

  it.for(RESOURCE_KINDS)('%s: pages and walks agree with a model while other collections are written', async (kind) => {
    const { collection } = RESOURCES[kind];
    const model = newestFirst(models.get(kind) ?? []);
    let writing = true;
    const writes = (async () => {
      while (writing) {
        if (kind !== 'group') await platform.create('/groups', { name: unique('elsewhere') });
        else await platform.create('/config_types', { name: 'x', slug: unique('elsewhere') });
        if (kind !== 'device') await platform.create('/devices', { name: unique('elsewhere') });
      }
    })();
    try {
      // A kind whose list is what the others write is walked by its filter on ids.
      const ids = model.map(({ id }) => id).join('|');
      const written = kind === 'device' || kind === 'group' || kind === 'config_type';
      const own = written ? `&id=${encodeURIComponent(ids)}` : '';
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 100 }), fc.constantFrom('', 'id:asc'), async (limit, order) => {
          const sorted = order === '' ? model : model.toSorted((left, right) => (left.id < right.id ? -1 : 1));
          // Many small pages take long to walk, and tell no more than some.
          const size = Math.max(limit, Math.ceil(model.length / 30));
          expect(await walk(platform, `/${collection}?order_by=${order}${own}`, size)).toEqual(sorted);
        }),
        { numRuns: 6 },
      );
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 110 }), fc.nat(model.length + 20), async (limit, offset) => {
          const { body } = await platform.get(
            `/${collection}?limit=${limit}&offset=${offset}&expand=total_count${own}`,
          );
          const size = Math.min(limit, 100);
          expect(body['data']).toEqual(model.slice(offset, offset + size));
          expect(body).toMatchObject({
            limit: size,
            offset,
            has_more: offset + size < model.length,
            total_count: model.length,
          });
        }),
        { numRuns: 15 },
      );
    } finally {
      writing = false;
      await writes;
    }
  });

  it.for(RESOURCE_KINDS)('%s: filters give what has the value, and nothing else', async (kind) => {
    const { collection, filters } = RESOURCES[kind];
    const model = models.get(kind) ?? [];
    const ids = encodeURIComponent(model.map(({ id }) => id).join('|'));
    for (const field of Object.keys(filters)) {
      const shown = model.filter((item) => typeof item[field] === 'string');
      const values = [...new Set(shown.map((item) => String(item[field])))].slice(0, 2);
      if (shown.length === 0) expect(`${kind} ${field}`).toBe('device current_release_id');
      for (const chosen of [values.slice(0, 1), values]) {
        const wanted = chosen.map((value) => encodeURIComponent(value)).join('%7C');
        const narrowed = field === 'id' ? '' : `&id=${ids}`;
        const found = await walk(platform, `/${collection}?${field}=${wanted}${narrowed}&order_by=id:asc`, 100);
        expect(found).toEqual(model.filter((item) => chosen.includes(String(item[field]))));
      }
    }
  });

  it('of devices can be filtered by current release, alone and with another filter', async () => {
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

describe('what a list refuses', () => {
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
  ] as const)('%s', async ([path, parameter]) => {
    await using platform = await startPlatform();
    expect((await platform.get(path)).body).toMatchObject({
      error: { code: 'invalid_parameter', params: { parameter } },
    });
  });

  it('no number whatever', async () => {
    await using platform = await startPlatform({ devices: 12, seed: 1 });
    for (const text of ['9'.repeat(400), '-1', 'abc', '%20', '1e9', '%', '%00', '٣', '[]', '5&limit=7', '']) {
      const { status, body } = await platform.get(`/devices?limit=${text}&offset=${text}`);
      expect({ text, status }).toEqual({ text, status: 200 });
      expect((body['data'] as unknown[]).length).toBeLessThanOrEqual(body['limit'] as number);
    }
  });

  it('no filter value, however strange, and finds nothing by it', async () => {
    await using platform = await startPlatform({ devices: 12, seed: 1 });
    for (const value of ['', '%00', "'; DROP TABLE devices; --", '%F0%9F%A4%96', '|', '*', '%25', 'null']) {
      expect((await platform.get(`/devices?name=${value}&group_id=${value}&expand=total_count`)).body).toMatchObject({
        data: [],
        total_count: 0,
        has_more: false,
      });
    }
  });
});

describe('expansions', () => {
  it('are given when asked for, nest, and are otherwise absent', async () => {
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

  it('show a renamed config type wherever its name appears', async () => {
    await using platform = await startPlatform();
    const kit = await createKit(platform);
    const name = async () => (await platform.items('/config_instances'))[0]?.['config_type_name'];
    const before = await name();
    await platform.call('PATCH', `/config_types/${kit.type}`, { name: 'Another' });
    expect([before, await name()]).toEqual([before, 'Another']);
    expect((await platform.items('/config_schemas'))[0]?.['config_type_name']).toBe('Another');
  });
});
