/** Deployments under client requests and agent reports (sections 2.2 and 3 of the specification). */

import { expect, it } from 'vitest';
import type { PlatformError } from '../ports.ts';
import {
  createDevice,
  createKit,
  deploy,
  deploymentBody,
  refusal,
  stage,
  startPlatform,
  type TestPlatform,
} from '../testing/kit.ts';
import { recorded } from './deployments.ts';

it('a deployment is refused to other devices as if it did not exist', async () => {
  await using platform = await startPlatform();
  const [kit, other] = [await createKit(platform), await createDevice(platform)];
  const id = await deploy(platform, kit, await createDevice(platform));
  const told = (asked: string): string => {
    try {
      return platform.port.deployment(other, asked, []).id;
    } catch (error) {
      const { status, code, params, message } = error as PlatformError;
      return JSON.stringify({ status, code, params, message }).replaceAll(asked, 'ID');
    }
  };
  expect(told(id)).toBe(told('dpl_unknown'));
  const staged = await stage(platform, kit, other);
  const reporting = () => platform.port.report(other, staged, { activity_status: 'deployed' });
  expect(reporting).toThrow(expect.objectContaining({ status: 409 }));
});

it('a deployment cannot be deployed to an archived device', async () => {
  await using platform = await startPlatform();
  const [kit, robot] = [await createKit(platform), await createDevice(platform)];
  const staged = await stage(platform, kit, robot);
  platform.archiveDevice(robot);
  expect(await platform.post(`/deployments/${staged}/deploy`)).toMatchObject(refusal(409, 'device_archived'));
  expect((await platform.post('/deployments', deploymentBody(kit, robot, 'deployed'))).status).toBe(409);
  expect((await platform.call('PATCH', `/devices/${robot}`, { name: 'again' })).status).toBe(409);
});

const slots = ['left', 'right', 'extra'].map((key) => ({
  key,
  name: key,
  filepath: `/etc/${key}.json`,
  required: key !== 'extra',
}));

async function world(platform: TestPlatform) {
  await platform.create('/config_types', { name: 'Arms', slug: 'arms' });
  const schema = await platform.create('/config_schemas', {
    config_type_ref: { slug: 'arms' },
    language: 'opaque',
    format: 'json',
    documents: [],
    instance_slots: slots,
  });
  const release = await platform.create('/releases', { version: '1', config_schema_ids: [schema.id] });
  const instances: Record<string, string> = {};
  for (const { key } of slots) {
    const body = { config_schema_id: schema.id, slot_key: key, content: { format: 'text', data: key } };
    instances[key] = (await platform.create('/config_instances', body)).id;
  }
  return { schema: schema.id, release: release.id, instances, robot: await createDevice(platform) };
}

it('config of a deployment fills each required slot of its release once', async () => {
  await using platform = await startPlatform();
  const { release, robot, instances } = await world(platform);
  const foreign = (await createKit(platform)).instance;
  const attempt = (...keys: string[]) =>
    platform.post('/deployments', {
      target_status: 'staged',
      description: '',
      release_id: release,
      device_id: robot,
      config_instance_ids: keys.map((key) => instances[key] ?? key),
    });
  expect((await attempt('left', 'right')).status).toBe(200);
  expect((await attempt('left', 'right', 'extra')).status).toBe(200);
  for (const keys of [[], ['left'], ['left', 'left', 'right'], ['left', 'right', foreign]]) {
    expect(await attempt(...keys)).toMatchObject(refusal(400, 'invalid_config_instances'));
  }
  expect((await attempt('left', 'right', 'cfg_inst_nothing')).status).toBe(404);
});

it('config must name its slot when the schema has several, and satisfy the schema', async () => {
  await using platform = await startPlatform();
  const { schema } = await world(platform);
  const attempt = (body: object) => platform.post('/config_instances', body);
  const content = { format: 'text', data: '' };
  expect(await attempt({ config_schema_id: schema, content })).toMatchObject(refusal(400, 'invalid_slot'));
  expect((await attempt({ config_schema_id: schema, slot_key: 'middle', content })).status).toBe(400);
  const kit = await createKit(platform);
  const of = (format: string, data: string) => attempt({ config_schema_id: kit.schema, content: { format, data } });
  expect((await of('yaml', 'speed: 3')).status).toBe(200);
  expect((await of('jsonc', '{"speed": 3, // quick\n"x": "/* no comment */"}')).status).toBe(200);
  for (const [format, data] of [
    ['json', '{"speed":"fast"}'],
    ['json', '{'],
    ['yaml', 'a: [1'],
    ['yaml', 'speed: fast'],
    ['yaml', '&a [*a]'],
    ['text', 'free'],
  ] as const) {
    expect(await of(format, data)).toMatchObject(refusal(400, 'invalid_content'));
  }
});

it('config needs a valid schema with valid slots', async () => {
  await using platform = await startPlatform();
  await platform.create('/config_types', { name: 'Kind', slug: 'kind' });
  const attempt = (more: object) =>
    platform.post('/config_schemas', {
      config_type_ref: { slug: 'kind' },
      language: 'jsonschema',
      format: 'json',
      documents: [{ name: 'a', data: '{}' }],
      ...more,
    });
  const document = (data: string) => ({ documents: [{ name: 'a', data }] });
  const slot = (key: string, filepath: string) => ({ key, name: key, filepath, required: true });
  const answers: [number, object][] = [
    [200, {}],
    [200, document('{"$schema":"http://json-schema.org/draft-07/schema#","type":"string"}')],
    [200, { language: 'cue', format: 'cue', ...document('#A: int') }],
    [400, document('{')],
    [400, document('[]')],
    [400, document('{"type":"strange"}')],
    [400, document('{"$ref":"https://elsewhere.invalid/schema"}')],
    [400, { documents: [] }],
    [400, { language: 'cue', format: 'json' }],
    [400, { format: 'cue' }],
    [400, { instance_slots: [slot('a', '/etc/../shadow')] }],
    [400, { instance_slots: [slot('a', 'relative')] }],
    [400, { instance_slots: [slot('A', '/etc/a')] }],
    [400, { config_type_ref: {} }],
    [409, { instance_slots: [slot('a', '/etc/a'), slot('a', '/etc/b')] }],
    [409, { instance_slots: [slot('a', '/etc/a'), slot('b', '/etc/a')] }],
    [404, { config_type_ref: { slug: 'nothing' } }],
    [404, { config_type_ref: { id: 'cfg_typ_nothing' } }],
  ];
  for (const [status, body] of answers) expect((await attempt(body)).status, JSON.stringify(body)).toBe(status);
});

const [EARLY, MIDDLE, LATE] = ['2026-01-01T01:00:00.000Z', '2026-01-01T02:00:00.000Z', '2026-01-01T03:00:00.000Z'];

it.each([
  [LATE, EARLY, MIDDLE, MIDDLE],
  [LATE, EARLY, '2026-01-01T03:00:00,0+01', MIDDLE],
  [LATE, EARLY, undefined, LATE],
  [LATE, MIDDLE, EARLY, MIDDLE],
  [MIDDLE, EARLY, LATE, MIDDLE],
  [EARLY, MIDDLE, undefined, MIDDLE],
])('a recorded moment is possible: now %s, after %s, reported as %s', (now, after, reported, expected) => {
  expect(recorded(now, after, reported)).toBe(expected);
});
