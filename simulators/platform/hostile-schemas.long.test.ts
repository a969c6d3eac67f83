/** Clients whose schemas, content or bodies would hold up a platform: it answers them, and everyone else meanwhile. */
import { expect, it } from 'vitest';
import { startPlatform, type TestPlatform } from './testing/client.ts';
import { createKit, unique } from './testing/kit.ts';

async function schemaOf(platform: TestPlatform, schema: object) {
  const slug = unique('hostile');
  await platform.create('/config_types', { name: slug, slug });
  return await platform.post('/config_schemas', {
    ...{ config_type_ref: { slug }, language: 'jsonschema', format: 'json' },
    documents: [{ name: 's.json', data: JSON.stringify(schema) }],
  });
}
const CATASTROPHIC = `"${'a'.repeat(60)}!"`;
const post = (platform: TestPlatform, schema: string, data: string) =>
  platform.post('/config_instances', { config_schema_id: schema, content: { format: 'json', data } });

it('a catastrophic pattern is answered in time', async () => {
  await using platform = await startPlatform({ checks: { deadlineMs: 300, threads: 1 } });
  const { body } = await schemaOf(platform, { pattern: '^(a+)+$' });
  expect(await post(platform, String(body['id']), CATASTROPHIC)).toMatchObject({
    status: 422,
    body: { error: { code: 'content_not_checked', message: 'content: the check took longer than 0.3 s' } },
  });
});

it('other clients are answered while a check runs, and the platform can be stopped', async () => {
  const platform = await startPlatform({ checks: { deadlineMs: 60_000, threads: 2 } });
  const kit = await createKit(platform);
  const { body } = await schemaOf(platform, { pattern: '^(a+)+$' });
  let ended = false;
  const stuck = post(platform, String(body['id']), CATASTROPHIC)
    .catch(() => 'cut off')
    .finally(() => (ended = true));
  expect((await platform.get('/devices')).status).toBe(200);
  expect((await post(platform, kit.schema, '{"speed":2}')).status).toBe(200);
  expect(ended).toBe(false);
  await platform.stop();
  expect(await stuck).toBe('cut off');
});

it('$async is refused, and content is always judged', async () => {
  await using platform = await startPlatform();
  expect(await schemaOf(platform, { $async: true, type: 'string' })).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_schema', message: expect.stringContaining('$async') } },
  });
});

it('400,000 problems are told in a few kB', async () => {
  await using platform = await startPlatform();
  const { body } = await schemaOf(platform, { items: { type: 'string' } });
  const reply = await post(platform, String(body['id']), `[${'1,'.repeat(399_999)}1]`);
  expect([400, 422]).toContain(reply.status);
  expect(reply.text.length).toBeLessThan(10_000);
});

it.for([
  ['members', `{${Array.from({ length: 100_000 }, (_, at) => `"k${at}":1`).join()}}`],
  ['items', `{"name":[${'1,'.repeat(400_000)}1]}`],
  ['objects', `{"name":[${'{"a":{}},'.repeat(100_000)}1]}`],
])('a body of too many %s is refused before it is looked at', async ([, body]) => {
  await using platform = await startPlatform();
  expect(await platform.call('POST', '/devices', body)).toMatchObject({
    status: 413,
    body: { error: { code: 'body_too_large', message: expect.stringContaining('10000 members and items') } },
  });
});
