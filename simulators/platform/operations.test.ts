/** Every published operation, over HTTP, in every version that has it; every answer compared with the served document. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inVersion } from '../../harness/contract/platform/operation.ts';
import { OPERATIONS, operationsOf, RESOURCES } from '../../harness/contract/platform/operations.ts';
import { SUPPORTED_VERSIONS } from '../../harness/contract/versions.ts';
import { startPlatform, type TestPlatform } from './testing/client.ts';
import { Documented } from './testing/document.ts';
import { createWorld, EXAMPLES, pathOf, type World } from './testing/examples.ts';

describe.for(SUPPORTED_VERSIONS)('%s', (version) => {
  let platform: TestPlatform;
  let world: World;
  let documented: Documented;

  beforeAll(async () => {
    platform = await startPlatform({ devices: 40, seed: 3 });
    world = await createWorld(platform, version);
    documented = new Documented((await platform.get(`/openapi/${version}.json`)).body as never);
  });
  afterAll(() => platform.stop());

  it.for(operationsOf(version).map(({ id }) => id))('%s', async (id) => {
    const operation = OPERATIONS.find((each) => each.id === id);
    const make = EXAMPLES[id];
    if (operation === undefined || make === undefined) throw new Error(`there is no example of ${id}`);
    const example = await make(world);
    const reply = await platform.call(operation.method, pathOf(operation.path, example), example.body, { version });
    expect(reply.status, reply.text).toBe(200);
    if (operation.answer === 'binary') {
      expect(reply.text).toBe('{"speed":1}');
      expect(reply.headers.get('content-disposition')).toMatch(/^attachment; filename="type-\d+\.json"$/);
    } else {
      expect(documented.problems(id, 200, reply.body)).toEqual([]);
    }
  });

  it.for(OPERATIONS.filter((each) => !inVersion(each, version)).map(({ id }) => id))('has no %s', async (id) => {
    const operation = OPERATIONS.find((each) => each.id === id);
    const example = await EXAMPLES[id]?.(world);
    if (operation === undefined || example === undefined) throw new Error(`there is no example of ${id}`);
    const reply = await platform.call(operation.method, pathOf(operation.path, example), example.body, { version });
    expect(reply.status).toBe(404);
    expect(reply.body).toMatchObject({ error: { code: 'unknown_route' } });
    expect(documented.operation(id)).toBeUndefined();
  });

  it.for(
    operationsOf(version)
      .filter(({ list, sub }) => list && !sub)
      .map(({ id }) => id),
  )('%s: every expansion and order', async (id) => {
    const { kind = 'device', path } = OPERATIONS.find((each) => each.id === id) ?? { path: '' };
    const { expansions, orders } = RESOURCES[kind];
    const names = Object.keys(expansions).filter((name) => inVersion(expansions[name] ?? {}, version));
    const expand = ['total_count', ...names].map((name) => `expand[]=${name}`).join('&');
    const fields = [
      'id',
      'created_at',
      ...Object.keys(orders).filter((name) => inVersion(orders[name] ?? {}, version)),
    ];
    for (const order of fields.flatMap((field) => [field, `${field}:asc`, `${field}:desc,id:desc`])) {
      const reply = await platform.get(`${path}?${expand}&order_by=${order}&limit=100`, { version });
      expect(documented.problems(id, reply.status, reply.body)).toEqual([]);
      const items = reply.body['data'] as Record<string, unknown>[];
      expect(items.length).toBeGreaterThan(0);
      for (const name of names) expect(items.every((item) => name in item)).toBe(true);
      const [field = ''] = order.split(':');
      const shown = items.map((item) => String(item[field]));
      const sorted = order.endsWith('asc') ? shown.toSorted() : shown.toSorted().reverse();
      expect(shown).toEqual(sorted);
    }
  });

  it('describes refusals too', async () => {
    const refusals = await Promise.all([
      platform.get('/devices', { version, headers: { 'x-api-key': 'wrong' } }),
      platform.get('/devices?expand=nothing', { version }),
      platform.get('/devices/dvc_nothing', { version }),
      platform.call('POST', '/devices', '{', { version }),
      platform.call('POST', '/devices', { name: '' }, { version }),
    ]);
    expect(refusals.map(({ status }) => status)).toEqual([401, 400, 404, 400, 400]);
    for (const { status, body } of refusals) expect(documented.problems('listDevices', status, body)).toEqual([]);
  });
});
