/** How each expansion of a resource finds its value. */
import type { InstanceContent } from '../../../harness/contract/platform/config-instance.ts';
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import type { Core } from '../core.ts';
import type { BaseRow, Rows } from '../store/rows.ts';
import { contentOf } from './config-instances.ts';

/** Another resource, several, none, or a plain value. */
export type Expanded =
  | { kind: ResourceKind; row: BaseRow | undefined }
  | { kind: ResourceKind; rows: readonly BaseRow[] }
  | { content: InstanceContent }
  | { value: unknown };

type Expander<K extends ResourceKind> = (core: Core, row: Rows[K]) => Expanded;

const one = (core: Core, kind: ResourceKind, id: string | null): Expanded => ({
  kind,
  row: id === null ? undefined : core.store.collections[kind].byId(id),
});

const many = (core: Core, kind: ResourceKind, ids: string): Expanded => ({
  kind,
  rows: (JSON.parse(ids) as string[])
    .map((id): BaseRow | undefined => core.store.collections[kind].byId(id))
    .filter((row) => row !== undefined),
});

export const EXPANDERS: { [K in ResourceKind]: Record<string, Expander<K>> } = {
  config_type: {},
  config_schema: {
    documents: (_core, row) => ({ value: JSON.parse(row.documents) }),
    config_type: (core, row) => one(core, 'config_type', row.config_type_id),
  },
  config_instance: {
    content: (core, row) => ({
      content: { format: row.content_format, data: new TextDecoder().decode(contentOf(core, row.id)) },
    }),
    config_schema: (core, row) => one(core, 'config_schema', row.config_schema_id),
    config_type: (core, row) => one(core, 'config_type', row.config_type_id),
  },
  release: { config_schemas: (core, row) => many(core, 'config_schema', row.config_schema_ids) },
  deployment: {
    device: (core, row) => one(core, 'device', row.device_id),
    release: (core, row) => one(core, 'release', row.release_id),
    parent: (core, row) => one(core, 'deployment', row.parent_id),
    config_instances: (core, row) => many(core, 'config_instance', row.config_instance_ids),
  },
  device: {
    current_deployment: (core, row) => one(core, 'deployment', row.current_deployment_id),
    current_release: (core, row) => one(core, 'release', row.current_release_id),
    group: (core, row) => one(core, 'group', row.group_id),
  },
  group: { parent: (core, row) => one(core, 'group', row.parent_id) },
  git_commit: {},
};
