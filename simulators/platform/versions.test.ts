/** Older API versions (section 9 of the specification). */
import { expect, it } from 'vitest';
import { versionNamed } from '../../harness/contract/versions.ts';
import { startPlatform } from './testing/kit.ts';

const TETONS = versionNamed('tetons');
const RAINIER = versionNamed('rainier');
const EVERGLADES = versionNamed('everglades');

it('formats of content are accepted from their introducing version, and shown as json to older ones', async () => {
  await using platform = await startPlatform();
  await platform.create('/config_types', { name: 'Kind', slug: 'kind' });
  const opaque = { language: 'opaque', format: 'json', documents: [{ name: 'any.json', data: 'true' }] };
  const schema = await platform.create('/config_schemas', { config_type_ref: { slug: 'kind' }, ...opaque });
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
