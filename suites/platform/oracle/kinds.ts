/** Members of each resource, by how long the exploration expects a value to stay. */
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';

/** Duration of a value: `fixed` forever, `written` until a client writes it, `timely` until the next read. */
type Holding = 'fixed' | 'written' | 'timely';

const ALL = 'object id created_at';

/** Leaves out `config_type_name` and `digest`, which stay open: they are never compared. */
const KINDS: Readonly<Record<ResourceKind, Readonly<Partial<Record<Holding, string>>>>> = {
  config_type: { fixed: ALL, written: 'slug name', timely: 'updated_at' },
  config_schema: {
    fixed: `${ALL} instance_slots instance_filepath config_type_id instance_format language format documents`,
    timely: 'updated_at',
  },
  config_instance: { fixed: `${ALL} content config_schema_id config_type_id filepath slot_key` },
  release: { fixed: `${ALL} version git_commit_id config_schemas`, timely: 'updated_at' },
  deployment: {
    fixed: `${ALL} description device_id release_id parent_id config_instances`,
    timely: 'status activity_status error_status target_status queued_at deployed_at archived_at updated_at',
  },
  device: {
    fixed: ALL,
    written: 'group_id name description',
    timely: 'status current_deployment current_release agent_version last_connected_at last_disconnected_at updated_at',
  },
  group: { fixed: ALL, written: 'name parent_id', timely: 'updated_at' },
  git_commit: {
    fixed: `${ALL} sha message repository_owner repository_name repository_type repository_url commit_url`,
  },
};

/** Section 2.1: members that never change after creation. */
export const UNCHANGING = ['device_id', 'release_id', 'created_at'] as const;

type Held = ReadonlyMap<string, Holding>;

export const HOLDINGS = Object.fromEntries(
  Object.entries(KINDS).map(([kind, members]): [string, Held] => {
    const held = Object.entries(members).flatMap(([holding, names]) =>
      names.split(' ').map((name) => [name, holding as Holding] as const),
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
