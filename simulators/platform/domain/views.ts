/** Resources of the newest API version, without expansions. */
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import type { Core } from '../core.ts';
import type { Resources, Rows } from '../store/rows.ts';

type Computed<K extends ResourceKind> = {
  [F in Exclude<keyof Resources[K], 'object'> as Rows[K] extends { [Name in F]: Resources[K][F] }
    ? never
    : null extends Resources[K][F]
      ? never
      : F]: (core: Core, row: Rows[K]) => Resources[K][F];
};

const typeName = (core: Core, { config_type_id: id }: { config_type_id: string }): string =>
  core.store.collections.config_type.byId(id)?.name ?? '';

const COMPUTED: { [K in ResourceKind]: Computed<K> } = {
  config_type: {},
  config_schema: { config_type_name: typeName, instance_slots: (_core, row) => JSON.parse(row.instance_slots) },
  config_instance: { config_type_name: typeName },
  release: {},
  deployment: { status: (core, row) => core.behaviour.mergeStatus(row.activity_status, row.error_status) },
  device: {},
  group: {},
  git_commit: {},
};

type View<K extends ResourceKind> = (core: Core, row: Rows[K]) => Resources[K];

function viewOf<K extends ResourceKind>(kind: K): View<K> {
  const names = Object.keys(RESOURCES[kind].fields(NEWEST_VERSION));
  const computed: Readonly<Record<string, (core: Core, row: Rows[K]) => unknown>> = COMPUTED[kind];
  const parts = names.map((name): [name: string, value: (core: Core, row: Rows[K]) => unknown] => {
    if (name === 'object') return [name, () => kind];
    return [name, computed[name] ?? ((_core, row) => row[name as keyof Rows[K]] ?? null)];
  });
  return (core, row) => {
    const shown: Record<string, unknown> = {};
    for (const [name, valueIn] of parts) shown[name] = valueIn(core, row);
    return shown as Resources[K];
  };
}

export const VIEWS = Object.fromEntries(Object.keys(COMPUTED).map((kind) => [kind, viewOf(kind as ResourceKind)])) as {
  [K in ResourceKind]: View<K>;
};
