/**
 * Which kind of value each member of a resource is. This is the table that a reader of the oracle reads: what stands
 * here is held, what does not is open.
 *
 * `fixed`: bound at first sight, or by the request that made the record; the same from then on, whoever asks, in each
 * version that has it, in lists, expansions and answers of writes. `written`: changes by a client's write alone.
 * `timely`: changes by itself, with a device, another deployment or the clock; but two reads of one moment agree.
 */
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';

export type Holding = 'fixed' | 'written' | 'timely';

const fixed = (...names: string[]): [string, Holding][] => names.map((name) => [name, 'fixed']);
const written = (...names: string[]): [string, Holding][] => names.map((name) => [name, 'written']);
const timely = (...names: string[]): [string, Holding][] => names.map((name) => [name, 'timely']);

/** Section 2: every resource names its type. Other members are those of section 2.1 and of the published document. */
const ALL = fixed('object', 'id', 'created_at');

/**
 * Open: `config_type_name`, which is copied into other records, and the `digest` of documents. Names of expansions
 * stand for what is expanded: ids, contents and documents.
 */
export const HOLDINGS: Record<ResourceKind, ReadonlyMap<string, Holding>> = {
  config_type: new Map([...ALL, ...written('name', 'slug'), ...timely('updated_at')]),
  config_schema: new Map([
    ...ALL,
    ...fixed(
      'config_type_id',
      'instance_slots',
      'instance_filepath',
      'instance_format',
      'language',
      'format',
      'documents',
    ),
    ...timely('updated_at'),
  ]),
  config_instance: new Map([...ALL, ...fixed('config_schema_id', 'config_type_id', 'filepath', 'slot_key', 'content')]),
  release: new Map([...ALL, ...fixed('version', 'git_commit_id', 'config_schemas'), ...timely('updated_at')]),
  deployment: new Map([
    ...ALL,
    ...fixed('description', 'device_id', 'release_id', 'parent_id', 'config_instances'),
    ...timely('status', 'activity_status', 'error_status', 'target_status'),
    ...timely('queued_at', 'deployed_at', 'archived_at', 'updated_at'),
  ]),
  device: new Map([
    ...ALL,
    ...written('name', 'description', 'group_id'),
    ...timely('status', 'agent_version', 'last_connected_at', 'last_disconnected_at', 'updated_at'),
    ...timely('current_deployment', 'current_release'),
  ]),
  group: new Map([...ALL, ...written('name', 'parent_id'), ...timely('updated_at')]),
  git_commit: new Map([
    ...ALL,
    ...fixed(
      'sha',
      'message',
      'repository_owner',
      'repository_name',
      'repository_type',
      'repository_url',
      'commit_url',
    ),
  ]),
};

/** The member that names what an expansion shows: the two stand in one answer, and agree. */
export const NAMED_BY: Readonly<Record<string, string>> = {
  group: 'group_id',
  parent: 'parent_id',
  device: 'device_id',
  release: 'release_id',
  config_type: 'config_type_id',
  config_schema: 'config_schema_id',
};
