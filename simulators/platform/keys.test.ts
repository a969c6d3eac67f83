/** API keys, scopes and versions, which are checked before anything else. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operationsOf } from '../../harness/contract/platform/operations.ts';
import { NEWEST_VERSION } from '../../harness/contract/versions.ts';
import { KeyRing, SCOPES } from './keys.ts';
import { createWorld, exampleOf, type World } from './testing/examples.ts';
import { refusal, startPlatform, type TestPlatform } from './testing/kit.ts';

const scoped = operationsOf(NEWEST_VERSION).filter(({ scopes }) => scopes.length > 0);
const resourceOf = (scope: string): string => scope.split(':')[0] ?? '';

describe('scopes', () => {
  let platform: TestPlatform;
  let world: World;
  /** One key a scope, and one without any. */
  const keyOf = (scope: string): string => `key-for-${scope}`;

  beforeAll(async () => {
    const limited = SCOPES.map((scope) => ({ key: keyOf(scope), scopes: [scope] }));
    const creator = { key: keyOf('creator'), scopes: ['deployments:write', 'deployments:stage'] };
    const keys = [{ key: 'admin', scopes: 'all' as const }, { key: 'nothing', scopes: [] }, creator, ...limited];
    platform = await startPlatform({ keys });
    world = await createWorld(platform, NEWEST_VERSION);
  });
  afterAll(() => platform.stop());

  const attempt = async (id: string, key: string): Promise<number> => {
    const { method, path, body } = await exampleOf(id, world);
    return (await platform.call(method, path, body, { headers: { 'x-api-key': key } })).status;
  };

  it.for(scoped)('$id needs its own scope or that of its resource’s manager', async ({ id, scopes: [scope = ''] }) => {
    expect(await attempt(id, 'nothing')).toBe(403);
    const others = SCOPES.filter((other) => other !== scope && resourceOf(other) === resourceOf(scope));
    for (const other of others.filter((each) => !each.endsWith(':manage')))
      expect(await attempt(id, keyOf(other))).toBe(403);
    expect(await attempt(id, keyOf(`${resourceOf(scope)}:manage`))).toBe(200);
    // Creating a deployment needs one more, according to its target.
    const own = id === 'createDeployment' ? keyOf('creator') : keyOf(scope);
    expect(await attempt(id, own)).toBe(200);
  });

  it('creating a deployment also needs the scope of its target status', async () => {
    const { path, body } = await exampleOf('createDeployment', world);
    const call = (key: string, target: string) =>
      platform.post(path, { ...(body as object), target_status: target }, { headers: { 'x-api-key': key } });
    expect((await call(keyOf('deployments:write'), 'staged')).status).toBe(403);
    const lacking = refusal(403, 'missing_scope', { params: { scope: 'deployments:deploy' } });
    expect(await call(keyOf('creator'), 'deployed')).toMatchObject(lacking);
    expect((await call(keyOf('creator'), 'staged')).status).toBe(200);
  });

  it('/principal needs none', async () => {
    const reply = await platform.get('/principal', { headers: { 'x-api-key': 'nothing' } });
    expect(reply.body).toMatchObject({ object: 'principal', name: 'API key 2' });
  });
});

describe('an API key', () => {
  it('must have a text and known scopes', () => {
    expect(() => new KeyRing([{ key: 'a', scopes: ['devices:fly'] }])).toThrow(/unknown scope "devices:fly"/);
    expect(() => new KeyRing([{ key: '', scopes: 'all' }])).toThrow(/empty/);
  });
});

describe('the version header', () => {
  it('is required, under the name of the dialect', async () => {
    await using spec = await startPlatform();
    await using miru = await startPlatform({ dialect: 'miru' });
    const ask = async ({ url, apiKey }: TestPlatform, header: string) =>
      (await fetch(`${url}/devices`, { headers: { 'x-api-key': apiKey, [header]: NEWEST_VERSION } })).status;
    expect(await ask(spec, 'Service-Version')).toBe(200);
    expect(await ask(spec, 'Miru-Version')).toBe(400);
    expect(await ask(miru, 'Miru-Version')).toBe(200);
    expect(await ask(miru, 'Service-Version')).toBe(400);
  });
});
