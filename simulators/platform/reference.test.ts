import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inVersion } from '../../harness/contract/platform/operation.ts';
import { OPERATIONS, operationsOf, RESOURCES } from '../../harness/contract/platform/operations.ts';
import { SUPPORTED_VERSIONS } from '../../harness/contract/versions.ts';
import { anyCharacter } from '../common/testing/scratch.ts';
import { referenceBehaviour } from './reference.ts';
import { totalOrder } from './store/order.ts';
import { createWorld, exampleOf, type World } from './testing/examples.ts';
import { Documented, startPlatform, type TestPlatform } from './testing/kit.ts';

const { clampLimit, clampOffset } = referenceBehaviour;

describe('clamping (section 8)', () => {
  it.for([
    [[], 10],
    [['1'], 1],
    [['100'], 100],
    [['101'], 100],
    [['0'], 1],
    [['-0'], 1],
    [['-9'], 1],
    [['007'], 7],
    [['9'.repeat(400)], 100],
    [[`-${'9'.repeat(400)}`], 1],
    [['abc'], 10],
    [['5.5'], 10],
    [[' 5'], 10],
    [['+5'], 10],
    [['1e2'], 10],
    [['0x10'], 10],
    [['-9e99'], 10],
    [['٣'], 10],
    [[''], 10],
    [['3', '4'], 3],
  ] as const)('reads limit %j as %i', ([values, limit]) => expect(clampLimit(values)).toBe(limit));

  it.for([
    [[], 0],
    [['7'], 7],
    [['-1'], 0],
    [['-0'], 0],
    [[`-${'9'.repeat(400)}`], 0],
    [['9'.repeat(400)], Number.MAX_SAFE_INTEGER],
    [['9007199254740993'], Number.MAX_SAFE_INTEGER],
    [['abc'], 0],
    [['1.0'], 0],
  ] as const)('reads offset %j as %i', ([values, offset]) => expect(clampOffset(values)).toBe(offset));

  it('stays in range for any text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: anyCharacter, maxLength: 12 }), { maxLength: 3 }), (values) => {
        const limit = clampLimit(values);
        const offset = clampOffset(values);
        expect(Number.isInteger(limit) && limit >= 1 && limit <= 100).toBe(true);
        expect(Number.isSafeInteger(offset) && offset >= 0 && !Object.is(offset, -0)).toBe(true);
      }),
    );
  });
});

it('lists the newest first unless a client asks for another order', () => {
  expect(referenceBehaviour.order([])).toEqual(totalOrder([{ field: 'created_at', descending: true }]));
});

describe('recorded moments', () => {
  const stamp = (facts: { now: string; after: string; reported?: string }) =>
    referenceBehaviour.stamp('deployed', facts);
  const [early, middle, late] = ['2026-01-01T01:00:00.000Z', '2026-01-01T02:00:00.000Z', '2026-01-01T03:00:00.000Z'];

  it('are those that the agent reports when they are possible', () => {
    expect(stamp({ now: late, after: early, reported: middle })).toBe(middle);
    expect(stamp({ now: late, after: early, reported: '2026-01-01T03:00:00+01:00' })).toBe(middle);
    expect(stamp({ now: late, after: early })).toBe(late);
  });

  it('follow one another and are never in the future, even when the clock of the agent is wrong', () => {
    expect(stamp({ now: late, after: middle, reported: early })).toBe(middle);
    expect(stamp({ now: middle, after: early, reported: late })).toBe(middle);
    expect(stamp({ now: early, after: middle })).toBe(middle);
  });
});

// Calls every published operation over HTTP in every version, and compares each answer with the served document.

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
