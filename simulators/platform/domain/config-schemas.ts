/** Config types, config schemas and releases. */

import { hash } from 'node:crypto';
import type { InstanceFormat } from '../../../harness/contract/platform/config-instance.ts';
import type {
  CreateConfigSchema,
  InstanceSlot,
  SchemaDocument,
} from '../../../harness/contract/platform/config-schema.ts';
import type { CreateConfigType, UpdateConfigType } from '../../../harness/contract/platform/config-type.ts';
import type { CreateRelease } from '../../../harness/contract/platform/release.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import { checkSchema } from '../checks.ts';
import type { Core } from '../core.ts';
import { PlatformError } from '../ports.ts';
import { NEWEST_FIRST } from '../store/order.ts';
import type { ConfigSchemaRow, ConfigTypeRow, ReleaseRow } from '../store/rows.ts';
import { defaultSlot } from '../versions.ts';
import { change, conflict, createdNow, findRow, insert, invalid, refuseTaken } from './find.ts';
import { resolveGitCommit } from './git-commits.ts';

/** Creates a config schema. Throws PlatformError for an invalid schema, an unknown reference, or colliding slots. */
export function createConfigSchema(
  core: Core,
  request: CreateConfigSchema,
  version: SupportedVersion,
): ConfigSchemaRow {
  const { language, format, documents, git_commit } = request;
  const type = resolveType(core, request.config_type_ref);
  const commit = git_commit && resolveGitCommit(core, git_commit.commit_ref);
  const instanceFormat = request.instance_format ?? (format === 'yaml' ? 'yaml' : 'json');
  const slots = request.instance_slots ?? [defaultSlotFor(core, type, instanceFormat, version)];
  checkSlots(slots);
  if (language === 'cue' && format !== 'cue')
    throw invalid('invalid_request', 'format: a cue schema has the format cue');
  if (language === 'jsonschema' && format === 'cue')
    throw invalid('invalid_request', 'format: a jsonschema schema has the format json or yaml');
  const digest = `sha256:${hash('sha256', JSON.stringify([language, format, documents]), 'hex')}`;
  if (language === 'jsonschema') checkSchema({ digest, format, documents });
  const named = (id: string): SchemaDocument[] =>
    documents.map(({ name, data }, index) => ({ id: `${id}_doc_${index}`, name, data }));
  return insert(core, 'config_schema', (id) => ({
    config_type_id: type.id,
    digest,
    language,
    format,
    instance_format: instanceFormat,
    instance_slots: JSON.stringify(slots),
    documents: JSON.stringify(named(id)),
    git_commit: commit && git_commit ? JSON.stringify({ id: commit.id, paths: git_commit.schema_filepaths }) : null,
    ...createdNow(core),
  }));
}

export const slotsOfSchema = (schema: ConfigSchemaRow): InstanceSlot[] => JSON.parse(schema.instance_slots);

function resolveType(core: Core, { id, slug }: { id?: string | undefined; slug?: string | undefined }): ConfigTypeRow {
  if (id !== undefined) return findRow(core, 'config_type', id);
  if (slug === undefined)
    throw invalid('invalid_reference', 'config_type_ref: a config type is referred to by id or slug');
  const row = core.store.collections.config_type.first({ slug });
  if (row !== undefined) return row;
  throw new PlatformError(404, 'config_type_not_found', `there is no config type ${JSON.stringify(slug.slice(0, 64))}`);
}

/**
 * Returns the default slot of a schema; versions before everglades reuse the path of the previous schema (section 9 of
 * the specification, rule 1).
 */
function defaultSlotFor(
  core: Core,
  type: ConfigTypeRow,
  format: InstanceFormat,
  version: SupportedVersion,
): InstanceSlot {
  const derived = `${core.names.configRoot}/${type.slug}.${format === 'yaml' ? 'yaml' : 'json'}`;
  const { config_schema: schemas } = core.store.collections;
  const [seq] = schemas.query({ config_type_id: [type.id] }, NEWEST_FIRST).slice(0, 1);
  const newest = seq === undefined ? undefined : schemas.bySeq(seq);
  const previous = newest && slotsOfSchema(newest)[0]?.filepath;
  return defaultSlot(core.behaviour.defaultFilepath({ derived, previous, version }));
}

function checkSlots(slots: readonly InstanceSlot[]): void {
  for (const field of ['key', 'filepath'] as const) {
    const values = slots.map((slot) => slot[field]);
    const twice = values.find((value, index) => values.indexOf(value) !== index);
    if (twice !== undefined) {
      throw conflict('duplicate_slot', `instance_slots: ${field} ${JSON.stringify(twice)} is used twice`, {
        [field]: twice,
      });
    }
  }
  const escaping = slots.find(({ filepath }) => filepath.split('/').some((part) => part === '..' || part === '.'));
  if (escaping) throw invalid('invalid_request', 'instance_slots: filepath must not contain . or .. as a part');
}

/** Creates a config type. Throws PlatformError 409 for a taken slug. */
export function createConfigType(core: Core, { name, slug }: CreateConfigType): ConfigTypeRow {
  refuseTakenSlug(core, slug);
  return insert(core, 'config_type', { name, slug, ...createdNow(core) });
}

/**
 * Updates a config type; only versions before everglades can change the slug (section 9 of the specification, rule 2).
 */
export function updateConfigType(core: Core, id: string, { name, slug }: UpdateConfigType, version: SupportedVersion) {
  const row = findRow(core, 'config_type', id);
  const changes: Partial<ConfigTypeRow> = {};
  if (name !== undefined) changes.name = name;
  if (slug !== undefined && slug !== row.slug) {
    const decision = core.behaviour.slugPatch(version);
    if (decision === 'refuse') throw invalid('immutable_field', 'slug: the slug of a config type is immutable');
    if (decision === 'apply') {
      refuseTakenSlug(core, slug);
      changes.slug = slug;
    }
  }
  return Object.keys(changes).length === 0 ? row : change(core, 'config_type', row, changes);
}

const refuseTakenSlug = (core: Core, slug: string): void =>
  refuseTaken(core, 'config_type', { slug }, `there is a config type with the slug ${JSON.stringify(slug)}`);

/** Creates a release. Throws PlatformError 409 for a taken version, or for two schemas that write to one path. */
export function createRelease(core: Core, { version, config_schema_ids, git_commit_ref }: CreateRelease): ReleaseRow {
  refuseTaken(core, 'release', { version }, `there is a release ${JSON.stringify(version)}`);
  if (new Set(config_schema_ids).size < config_schema_ids.length) {
    throw invalid('invalid_request', 'config_schema_ids: each config schema may be named once');
  }
  const commit = git_commit_ref && resolveGitCommit(core, git_commit_ref);
  const owner = new Map<string, string>();
  for (const schema of config_schema_ids.map((id) => findRow(core, 'config_schema', id))) {
    for (const { filepath } of slotsOfSchema(schema)) {
      const other = owner.get(filepath);
      if (other !== undefined)
        throw conflict('duplicate_filepath', `${other} and ${schema.id} both write to ${filepath}`, { filepath });
      owner.set(filepath, schema.id);
    }
  }
  return insert(core, 'release', {
    version,
    git_commit_id: commit?.id ?? null,
    config_schema_ids: JSON.stringify(config_schema_ids),
    ...createdNow(core),
  });
}
