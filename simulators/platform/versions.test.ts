/** What each version shows and accepts (section 9). */
import { describe, expect, it } from 'vitest';
import { versionNamed } from '../../harness/contract/versions.ts';
import {
  createDevice,
  createKit,
  deploy,
  deploymentBody,
  refusal,
  startPlatform,
  type TestPlatform,
  unique,
} from './testing/kit.ts';

const TETONS = versionNamed('tetons');
const RAINIER = versionNamed('rainier');
const EVERGLADES = versionNamed('everglades');

const schemaBody = (type: string, more: object = {}) => ({
  config_type_ref: { slug: type },
  language: 'jsonschema',
  format: 'json',
  documents: [{ name: 'any.json', data: 'true' }],
  ...more,
});
const paths = (schema: Record<string, unknown>) =>
  (schema['instance_slots'] as { filepath: string }[]).map(({ filepath }) => filepath);

async function withType(platform: TestPlatform): Promise<string> {
  const slug = unique('kind');
  await platform.create('/config_types', { name: 'Kind', slug });
  return slug;
}

describe('migration rule 1: slots of a config schema', () => {
  it('that are omitted are derived in everglades, and reused in older versions', async () => {
    await using platform = await startPlatform();
    const slug = await withType(platform);
    const slot = { key: 'main', name: 'Main', filepath: '/etc/robot/a.json', required: true };
    const first = await platform.create('/config_schemas', schemaBody(slug, { instance_slots: [slot] }));
    expect(paths(first)).toEqual(['/etc/robot/a.json']);
    const older = await platform.create('/config_schemas', schemaBody(slug), { version: RAINIER });
    expect(older['instance_filepath']).toBe('/etc/robot/a.json');
    const newer = await platform.create('/config_schemas', schemaBody(slug));
    expect(newer['instance_slots']).toEqual([
      { key: 'default', name: 'Default', filepath: `/srv/configs/${slug}.json`, required: true },
    ]);
    const yaml = await platform.create('/config_schemas', schemaBody(slug, { format: 'yaml' }));
    expect(paths(yaml)).toEqual([`/srv/configs/${slug}.yaml`]);
  });

  it('that are omitted are derived in older versions too when there is nothing to reuse', async () => {
    await using platform = await startPlatform({ dialect: 'miru' });
    const options = { headers: { 'miru-version': TETONS } };
    await platform.create('/config_types', { name: 'Kind', slug: 'kind' }, options);
    const schema = await platform.create('/config_schemas', schemaBody('kind'), options);
    expect(schema['instance_filepath']).toBe('/srv/miru/configs/kind.json');
  });

  it('are shown and accepted under the names of each version', async () => {
    await using platform = await startPlatform();
    const slug = await withType(platform);
    const made = await platform.create('/config_schemas', schemaBody(slug, { instance_filepath: '/etc/b.json' }), {
      version: TETONS,
    });
    expect(made).not.toHaveProperty('instance_slots');
    const seen = (await platform.get(`/config_schemas/${made.id}`)).body;
    expect(paths(seen)).toEqual(['/etc/b.json']);
    expect(seen).not.toHaveProperty('instance_filepath');
    const refused = [
      platform.post('/config_schemas', schemaBody(slug, { instance_filepath: '/etc/c.json' })),
      platform.post('/config_schemas', schemaBody(slug, { instance_slots: [] }), { version: RAINIER }),
      platform.post('/config_schemas', schemaBody(slug, { instance_slots: [] })),
    ];
    expect((await Promise.all(refused)).map(({ status }) => status)).toEqual([400, 400, 400]);
  });
});

describe('migration rule 2: the slug of a config type', () => {
  it('is immutable in everglades, and can be changed before', async () => {
    await using platform = await startPlatform();
    const { id } = await platform.create('/config_types', { name: 'Kind', slug: 'old' });
    const patch = (version: string) =>
      platform.call('PATCH', `/config_types/${id}`, { slug: 'new', name: 'Named' }, { version });
    expect((await patch(EVERGLADES)).status).toBe(400);
    expect((await platform.get(`/config_types/${id}`)).body).toMatchObject({ slug: 'old', name: 'Kind' });
    expect((await patch(RAINIER)).body).toMatchObject({ slug: 'new', name: 'Named' });
  });
});

describe('migration rule 3: parent_id', () => {
  it('must be the current target, and says nothing before everglades', async () => {
    await using platform = await startPlatform();
    const kit = await createKit(platform);
    const device = await createDevice(platform);
    const attempt = (more: object, version = EVERGLADES as string) =>
      platform.post('/deployments', deploymentBody(kit, device, 'deployed', more), { version });
    const first = await attempt({ parent_id: null });
    await attempt({ parent_id: first.body['id'] });
    expect(await attempt({ parent_id: first.body['id'] })).toMatchObject(refusal(409, 'parent_mismatch'));
    expect((await attempt({ parent_id: 'dpl_nothing' })).status).toBe(404);
    const elsewhere = await deploy(platform, kit, await createDevice(platform));
    expect((await attempt({ parent_id: elsewhere })).status).toBe(409);
    // Before everglades parent_id is information, not a claim, and null is refused.
    expect((await attempt({ parent_id: first.body['id'] }, RAINIER)).status).toBe(200);
    expect((await attempt({ parent_id: null }, RAINIER)).status).toBe(400);
  });
});

describe('formats of content', () => {
  it('are accepted from the version that introduces them, and shown as json before', async () => {
    await using platform = await startPlatform();
    const slug = await withType(platform);
    const schema = await platform.create('/config_schemas', schemaBody(slug, { language: 'opaque' }));
    const attempt = (format: string, data: string, version: string) =>
      platform.post('/config_instances', { config_schema_id: schema.id, content: { format, data } }, { version });
    expect((await attempt('yaml', 'a: 1', TETONS)).status).toBe(400);
    expect((await attempt('xml', '<a/>', RAINIER)).status).toBe(400);
    const contents = {
      yaml: 'a: [1, "zwei"] # note',
      jsonc: '{"a": 1 /* one */} // end',
      text: 'free\ntext',
      xml: '<a>1</a>',
    };
    for (const [format, data] of Object.entries(contents)) {
      const { body, status } = await attempt(format, data, EVERGLADES);
      expect(status).toBe(200);
      const seen = async (version: string) =>
        (await platform.get(`/config_instances/${body['id']}?expand=content`, { version })).body['content'];
      expect(await seen(EVERGLADES)).toEqual({ format, data });
      const older = (await seen(TETONS)) as { format: string; data: string };
      expect(older.format).toBe('json');
      expect(JSON.parse(older.data)).toEqual(
        { yaml: { a: [1, 'zwei'] }, jsonc: { a: 1 }, text: data, xml: data }[format],
      );
      expect((await platform.get(`/config_instances/${body['id']}/content`, { version: TETONS })).text).toBe(data);
    }
    const shown = (await platform.get(`/config_schemas/${schema.id}`, { version: RAINIER })).body;
    expect(shown['language']).toBe('jsonschema');
  });
});

describe('states that older versions lack', () => {
  it('are shown as their predecessors', async () => {
    await using platform = await startPlatform();
    const kit = await createKit(platform);
    const device = await createDevice(platform);
    const first = await deploy(platform, kit, device);
    platform.port.report(device, first, { activity_status: 'deployed' });
    await deploy(platform, kit, device);
    const seen = async (version: string) => (await platform.get(`/deployments/${first}`, { version })).body;
    expect(await seen(EVERGLADES)).toMatchObject({
      activity_status: 'removing',
      status: 'removing',
      target_status: 'archived',
    });
    expect(await seen(RAINIER)).toMatchObject({ activity_status: 'removing', status: 'removing' });
    expect(await seen(TETONS)).toMatchObject({
      activity_status: 'deployed',
      status: 'deployed',
      target_status: 'archived',
    });
    const listed = await platform.items('/deployments?activity_status=deployed', { version: TETONS });
    expect(listed.map(({ id }) => id)).toEqual([first]);
    expect((await platform.get('/deployments?activity_status=removing', { version: TETONS })).status).toBe(400);

    platform.archiveDevice(device);
    const status = async (version: string) => (await platform.get(`/devices/${device}`, { version })).body['status'];
    expect(await Promise.all([EVERGLADES, RAINIER, TETONS].map(status))).toEqual(['archived', 'inactive', 'inactive']);
  });
});
