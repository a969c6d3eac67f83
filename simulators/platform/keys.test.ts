import { expect, it } from 'vitest';
import { KeyRing } from './keys.ts';
import { createDevice, createKit, deploymentBody, refusal, startPlatform, unique } from './testing/kit.ts';

const keys = [{ key: 'admin', scopes: 'all' as const }];
const SCOPES = ['groups:read', 'groups:write', 'groups:manage', 'deployments:write', 'devices:manage'];

it('scopes to write or manage a resource let a key create it', async () => {
  const scoped = SCOPES.map((scope) => ({ key: scope, scopes: [scope] }));
  await using platform = await startPlatform({ keys: [...keys, { key: 'nothing', scopes: [] }, ...scoped] });
  const make = async (key: string) =>
    (await platform.post('/groups', { name: unique('group') }, { headers: { 'x-api-key': key } })).status;
  for (const key of ['nothing', 'groups:read', 'devices:manage']) expect(await make(key)).toBe(403);
  for (const key of ['groups:write', 'groups:manage']) expect(await make(key)).toBe(200);
  const reply = await platform.get('/principal', { headers: { 'x-api-key': 'nothing' } });
  expect(reply.body).toMatchObject({ object: 'principal', name: 'API key 2' });
});

it('scopes for the target status are required to create a deployment', async () => {
  const creator = { key: 'creator', scopes: ['deployments:write', 'deployments:stage'] };
  const writer = { key: 'writer', scopes: ['deployments:write'] };
  await using platform = await startPlatform({ keys: [...keys, creator, writer] });
  const [kit, device] = [await createKit(platform), await createDevice(platform)];
  const call = (key: string, target: 'staged' | 'deployed') =>
    platform.post('/deployments', deploymentBody(kit, device, target), { headers: { 'x-api-key': key } });
  expect((await call('writer', 'staged')).status).toBe(403);
  const lacking = refusal(403, 'missing_scope', { params: { scope: 'deployments:deploy' } });
  expect(await call('creator', 'deployed')).toMatchObject(lacking);
  expect((await call('creator', 'staged')).status).toBe(200);
});

it('an API key must have a text and known scopes', () => {
  expect(() => new KeyRing([{ key: 'a', scopes: ['devices:fly'] }])).toThrow(/unknown scope "devices:fly"/);
  expect(() => new KeyRing([{ key: '', scopes: 'all' }])).toThrow(/empty/);
});
