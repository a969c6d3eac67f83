/** Members of each resource, by how long the exploration expects a value to stay. */
import { RESOURCE_KINDS, type ResourceKind } from '../../../harness/contract/platform/operation.ts';

/** Duration of a value: `fixed` forever, `written` until a client writes it, `timely` until the next read. */
type Holding = 'fixed' | 'written' | 'timely';
type Promised = Readonly<Partial<Record<'2' | '2.1' | '2.2' | '2.6' | '9' | 'published', string>>>;

const ALL: Promised = { '2': 'object', '2.6': 'id', published: 'created_at' };

/** Members by section; a difference in a `published` one is a SHOULD, and `open` ones are never compared. */
const KINDS: Readonly<Record<ResourceKind, Readonly<Partial<Record<Holding | 'open', Promised>>>>> = {
  config_type: {
    fixed: ALL,
    written: { '9': 'slug', published: 'name' },
    timely: { published: 'updated_at' },
  },
  config_schema: {
    fixed: {
      ...ALL,
      '9': 'instance_slots instance_filepath',
      published: 'created_at config_type_id instance_format language format documents',
    },
    timely: { published: 'updated_at' },
    open: { published: 'config_type_name digest' },
  },
  config_instance: {
    fixed: { ...ALL, '9': 'content', published: 'created_at config_schema_id config_type_id filepath slot_key' },
    open: { published: 'config_type_name' },
  },
  release: {
    fixed: { ...ALL, published: 'created_at version git_commit_id config_schemas' },
    timely: { published: 'updated_at' },
  },
  deployment: {
    fixed: {
      ...ALL,
      '2.1': 'description device_id release_id created_at',
      '9': 'parent_id',
      published: 'config_instances',
    },
    timely: {
      '2.2': 'status activity_status error_status target_status',
      '9': 'queued_at deployed_at archived_at',
      published: 'updated_at',
    },
  },
  device: {
    fixed: ALL,
    written: { '9': 'group_id', published: 'name description' },
    timely: {
      '9': 'status current_deployment current_release',
      published: 'agent_version last_connected_at last_disconnected_at updated_at',
    },
  },
  group: {
    fixed: ALL,
    written: { '9': 'name parent_id' },
    timely: { published: 'updated_at' },
  },
  git_commit: {
    fixed: {
      ...ALL,
      published: 'created_at sha message repository_owner repository_name repository_type repository_url commit_url',
    },
  },
};

/** Section 2.1: members that never change after creation. */
export const UNCHANGING = ['device_id', 'release_id', 'created_at'] as const;

type Held = ReadonlyMap<string, Holding>;

export const HOLDINGS = Object.fromEntries(
  RESOURCE_KINDS.map((kind): [ResourceKind, Held] => {
    const kinds = KINDS[kind];
    const held = (['fixed', 'written', 'timely'] as const).flatMap((holding) =>
      Object.values(kinds[holding] ?? {}).flatMap((names) => names.split(' ').map((name) => [name, holding] as const)),
    );
    return [kind, new Map(held)];
  }),
) as Record<ResourceKind, Held>;

/** Member with the id of an expanded resource; both must agree in an answer. */
export const NAMED_BY: Readonly<Record<string, string>> = {
  group: 'group_id',
  parent: 'parent_id',
  device: 'device_id',
  release: 'release_id',
  config_type: 'config_type_id',
  config_schema: 'config_schema_id',
};
