import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inVersion } from '../../harness/contract/platform/operation.ts';
import { OPERATIONS, operationsOf } from '../../harness/contract/platform/operations.ts';
import { SUPPORTED_VERSIONS } from '../../harness/contract/versions.ts';
import { referenceBehaviour } from './reference.ts';
import { createWorld, exampleOf, type World } from './testing/examples.ts';
import { Documented, startPlatform, type TestPlatform } from './testing/kit.ts';

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
