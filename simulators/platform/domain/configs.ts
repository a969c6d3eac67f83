/** Config types, schemas, releases, git commits and config instances; contents are kept byte for byte. */

import { hash } from 'node:crypto';
import type { CreateConfigInstance, InstanceFormat } from '../../../harness/contract/platform/config-instance.ts';
import type {
  CreateConfigSchema,
  InstanceSlot,
  SchemaDocument,
} from '../../../harness/contract/platform/config-schema.ts';
import type { CreateConfigType, UpdateConfigType } from '../../../harness/contract/platform/config-type.ts';
import type {
  CreateGitCommit,
  GitCommitRef,
  GitRepositoryType,
} from '../../../harness/contract/platform/git-commit.ts';
import type { CreateRelease } from '../../../harness/contract/platform/release.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import { timestamp } from '../../common/clock.ts';
import { checkContent, checkSchema } from '../checks.ts';
import type { Core } from '../core.ts';
import { PlatformError } from '../ports.ts';
import {
  type ConfigSchemaRow,
  type ConfigTypeRow,
  type GitCommitRow,
  NEWEST_FIRST,
  type ReleaseRow,
} from '../store/rows.ts';
import { change, conflict, createdNow, findRow, insert, invalid, refuseTaken } from './find.ts';

export function createConfigType(core: Core, { name, slug }: CreateConfigType): ConfigTypeRow {
  refuseTakenSlug(core, slug);
  return insert(core, 'config_type', { name, slug, ...createdNow(core) });
}

/** Only versions before everglades can change the slug (section 9 of the specification, rule 2). */
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

export function createConfigSchema(core: Core, request: CreateConfigSchema, version: SupportedVersion) {
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

/** Slot of a schema that a client created without slots, or with `instance_filepath`. */
export function defaultSlot(filepath: string): InstanceSlot {
  return { key: 'default', name: 'Default', filepath, required: true };
}

function resolveType(core: Core, { id, slug }: { id?: string | undefined; slug?: string | undefined }): ConfigTypeRow {
  if (id !== undefined) return findRow(core, 'config_type', id);
  if (slug === undefined)
    throw invalid('invalid_reference', 'config_type_ref: a config type is referred to by id or slug');
  const row = core.store.collections.config_type.first({ slug });
  if (row !== undefined) return row;
  throw new PlatformError(404, 'config_type_not_found', `there is no config type ${JSON.stringify(slug.slice(0, 64))}`);
}

/** Versions before everglades reuse the path of the previous schema (section 9 of the specification, rule 1). */
function defaultSlotFor(core: Core, type: ConfigTypeRow, format: InstanceFormat, version: SupportedVersion) {
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
    if (twice === undefined) continue;
    const message = `instance_slots: ${field} ${JSON.stringify(twice)} is used twice`;
    throw conflict('duplicate_slot', message, { [field]: twice });
  }
  const escaping = slots.find(({ filepath }) => filepath.split('/').some((part) => part === '..' || part === '.'));
  if (escaping) throw invalid('invalid_request', 'instance_slots: filepath must not contain . or .. as a part');
}

export function createRelease(core: Core, { version, config_schema_ids, git_commit_ref }: CreateRelease): ReleaseRow {
  refuseTaken(core, 'release', { version }, `there is a release ${JSON.stringify(version)}`);
  if (new Set(config_schema_ids).size < config_schema_ids.length)
    throw invalid('invalid_request', 'config_schema_ids: each config schema may be named once');
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

const HOSTS = new Map<string, { type: GitRepositoryType; commit: string }>([
  ['github.com', { type: 'github', commit: 'commit' }],
  ['gitlab.com', { type: 'gitlab', commit: '-/commit' }],
  ['bitbucket.org', { type: 'bitbucket', commit: 'commits' }],
]);

export function createGitCommit(core: Core, { sha, message, origin }: CreateGitCommit): GitCommitRow {
  // E.g. `https://host/owner/name.git` or `git@host:owner/name`.
  const found = /^(?:(?:https?|ssh|git):\/\/(?:[^@/\s]+@)?([^:/\s]+)(?::\d+)?\/|(?:[^@/\s]+@)([^:/\s]+):)(\S+)$/.exec(
    origin,
  );
  const host = (found?.[1] ?? found?.[2] ?? '').toLowerCase();
  const parts = (found?.[3] ?? '')
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .split('/');
  const name = parts.pop() ?? '';
  const owner = parts.join('/');
  const site = HOSTS.get(host);
  if (site === undefined || owner === '' || name === '') {
    const accepted = [...HOSTS.keys()];
    throw invalid('invalid_origin', `origin: accepted are repositories on ${accepted.join(', ')}`, { accepted });
  }
  const url = `https://${host}/${owner}/${name}`;
  const lower = sha.toLowerCase();
  if (!core.behaviour.allowsDuplicates) {
    const known = core.store.collections.git_commit.where({ sha: lower }).find((row) => row.repository_url === url);
    if (known) throw conflict('git_commit_exists', `${lower} of ${url} is registered already`, { id: known.id });
  }
  return insert(core, 'git_commit', {
    sha: lower,
    message,
    repository_owner: owner,
    repository_name: name,
    repository_type: site.type,
    repository_url: url,
    commit_url: `${url}/${site.commit}/${lower}`,
    created_at: timestamp(core.clock),
  });
}

function resolveGitCommit(core: Core, { id, sha }: GitCommitRef): GitCommitRow {
  if (id !== undefined) return findRow(core, 'git_commit', id);
  if (sha === undefined) throw invalid('invalid_reference', 'a git commit is referred to by id or sha');
  const row = core.store.collections.git_commit.first({ sha: sha.toLowerCase() });
  if (row !== undefined) return row;
  throw new PlatformError(404, 'git_commit_not_found', `there is no git commit ${JSON.stringify(sha.slice(0, 64))}`);
}

export function createConfigInstance(core: Core, request: CreateConfigInstance, version: SupportedVersion) {
  const { content, config_schema_id, slot_key } = request;
  if (!core.behaviour.acceptsFormat(content.format, version))
    throw invalid('invalid_request', `content.format: ${content.format} is not accepted in ${version}`);
  const schema = findRow(core, 'config_schema', config_schema_id);
  const slots = slotsOfSchema(schema);
  const slot = slot_key === undefined && slots.length === 1 ? slots[0] : slots.find(({ key }) => key === slot_key);
  if (slot === undefined) {
    const accepted = slots.map(({ key }) => key);
    const problem = slot_key === undefined ? 'is needed' : `${JSON.stringify(slot_key.slice(0, 128))} is not accepted`;
    throw invalid('invalid_slot', `slot_key: ${problem}; the schema has ${accepted.join(', ')}`, { accepted });
  }
  if (core.behaviour.validatesContent) checkContent(content, schema);
  return core.store.write(() => {
    const row = insert(core, 'config_instance', {
      config_schema_id: schema.id,
      config_type_id: schema.config_type_id,
      slot_key: slot.key,
      filepath: slot.filepath,
      content_format: content.format,
      created_at: timestamp(core.clock),
    });
    storeContent(core, row.id, content.data);
    return row;
  });
}

/** Call inside the transaction that creates the instance. */
export function storeContent(core: Core, configInstanceId: string, data: string): void {
  core.store
    .prepare('INSERT INTO config_contents (config_instance_id, data) VALUES (?, ?)')
    .run(configInstanceId, Buffer.from(data, 'utf8'));
}

export function contentOf(core: Core, configInstanceId: string): Uint8Array {
  const row = core.store.prepare('SELECT data FROM config_contents WHERE config_instance_id = ?').get(configInstanceId);
  if (row === undefined) throw new PlatformError(404, 'not_found', `no content is held for ${configInstanceId}`);
  return row['data'] as Uint8Array;
}
