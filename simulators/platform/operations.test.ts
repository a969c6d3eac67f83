/** Calls every published operation over HTTP in every version, and compares each answer with the served document. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inVersion } from '../../harness/contract/platform/operation.ts';
import { OPERATIONS, operationsOf, RESOURCES } from '../../harness/contract/platform/operations.ts';
import { SUPPORTED_VERSIONS } from '../../harness/contract/versions.ts';
import { startPlatform, type TestPlatform } from './testing/client.ts';
import { Documented } from './testing/document.ts';
import { createWorld, exampleOf, type World } from './testing/examples.ts';

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

  it.for(operationsOf(version).map(({ id }) => id))('%s answers as documented', async (id) => {
    const { operation, method, path, body } = await exampleOf(id, world);
    const reply = await platform.call(method, path, body, { version });
    expect(reply.status, reply.text).toBe(200);
    if (operation.answer === 'binary') {
      expect(reply.text).toBe('{"speed":1}');
      expect(reply.headers.get('content-disposition')).toMatch(/^attachment; filename="type-\d+\.json"$/);
    } else {
      expect(documented.problems(id, 200, reply.body)).toEqual([]);
    }
  });

  it.for(OPERATIONS.filter((each) => !inVersion(each, version)).map(({ id }) => id))('has no %s', async (id) => {
    const { method, path, body } = await exampleOf(id, world);
    const reply = await platform.call(method, path, body, { version });
    expect(reply.status).toBe(404);
    expect(reply.body).toMatchObject({ error: { code: 'unknown_route' } });
    expect(documented.operation(id)).toBeUndefined();
  });

  const lists = operationsOf(version).filter(({ list, sub }) => list && !sub);
  it.for(lists)('$id takes every expansion and order', async ({ id, kind = 'device', path }) => {
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

  it('refusals are documented', async () => {
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
