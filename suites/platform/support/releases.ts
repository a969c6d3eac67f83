/** Everything a deployment needs, from config type to release, in the fields of the API version that the run speaks. */
import { randomInt } from 'node:crypto';
import { type Platform, speaksAtLeast } from './context.ts';
import { create, createConfigType, createdItem, uniqueName } from './create.ts';
import { envelopeProblems, getList, type Item, type Page } from './lists.ts';
import { ok, refused, send } from './requests.ts';

export interface SchemaOptions {
  /** Where instances are written. Omitted from the body when undefined. */
  filepath?: string;
  instanceFormat?: 'json' | 'yaml';
  /** Format of the schema document itself. Default JSON. */
  format?: 'json' | 'yaml';
}

/** Some platforms require the schema to name its dialect. */
const JSON_SCHEMA_DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** A new document each time, because a platform may recognise one that it already has. */
export function schemaBody(t: Platform, typeId: string, options: SchemaOptions = {}): Record<string, unknown> {
  const { filepath, instanceFormat, format = 'json' } = options;
  const document = { $schema: JSON_SCHEMA_DIALECT, title: uniqueName('schema'), type: 'object' };
  const yaml = Object.entries(document).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  const hasSlots = speaksAtLeast(t, 'everglades');
  const slots = [{ key: 'default', name: 'Default', filepath, required: true }];
  return {
    config_type_ref: { id: typeId },
    language: 'jsonschema',
    format,
    documents: [{ name: `schema.${format}`, data: format === 'json' ? JSON.stringify(document) : yaml.join('') }],
    ...(filepath === undefined ? {} : hasSlots ? { instance_slots: slots } : { instance_filepath: filepath }),
    ...(instanceFormat === undefined || !hasSlots ? {} : { instance_format: instanceFormat }),
  };
}

export const createSchema = (t: Platform, typeId: string, options: SchemaOptions = {}): Promise<Item> =>
  create(t, '/config_schemas', schemaBody(t, typeId, options));

/** A release of one schema, and a config instance that fills it. */
export interface ReleaseFixture {
  type: Item;
  schema: Item;
  release: Item;
  instance: Item;
  /** Where the instance is written on the device, and its content. */
  filepath: string;
  content: string;
}

export interface ReleaseOptions {
  filepath?: string;
}

/** Blocks the check if the platform refuses any part of it. */
export async function createReleaseFixture(t: Platform, options: ReleaseOptions = {}): Promise<ReleaseFixture> {
  const { filepath = `/srv/configs/${uniqueName('config')}.json` } = options;
  const type = await createConfigType(t);
  const schema = await createSchema(t, type.id, { filepath, instanceFormat: 'json' });
  const content = JSON.stringify({ speed: 1, marked: uniqueName('content') });
  const [release, instance] = await Promise.all([
    createRelease(t, schema.id),
    create(t, '/config_instances', { config_schema_id: schema.id, content: { format: 'json', data: content } }),
  ]);
  return { type, schema, release, instance, filepath, content };
}

/** Two of them: a platform may refuse a second deployment of one release. */
export const createReleaseFixtures = (t: Platform): Promise<[ReleaseFixture, ReleaseFixture]> =>
  Promise.all([createReleaseFixture(t), createReleaseFixture(t)]);

const LARGEST_NUMBER = 1_000_000;

/** If the release is refused without a git commit, it is created with one that the platform lists. */
async function createRelease(t: Platform, schemaId: string): Promise<Item> {
  const version = `v1.${randomInt(LARGEST_NUMBER)}.${randomInt(LARGEST_NUMBER)}`;
  const body = { version, config_schema_ids: [schemaId] };
  const response = await send(t, { method: 'POST', path: '/releases', body });
  const release = createdItem(response);
  if (release !== undefined) return release;
  const commit = refused(response) ? await findCommit(t) : undefined;
  return create(t, '/releases', { ...body, ...(commit === undefined ? {} : { git_commit_ref: { id: commit } }) });
}

async function findCommit(t: Platform): Promise<string | undefined> {
  const response = await getList(t, 'git_commits', { limit: 1 });
  if (!ok(response) || envelopeProblems(response.json).length > 0) return undefined;
  return (response.json as Page).data[0]?.id;
}
