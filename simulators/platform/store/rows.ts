import type { DeploymentActivityStatus } from '../../../harness/contract/enums.ts';
import type { ConfigInstance, InstanceFormat } from '../../../harness/contract/platform/config-instance.ts';
import type { ConfigSchema } from '../../../harness/contract/platform/config-schema.ts';
import type { ConfigType } from '../../../harness/contract/platform/config-type.ts';
import type { PlatformDeployment } from '../../../harness/contract/platform/deployment.ts';
import type { Device } from '../../../harness/contract/platform/device.ts';
import type { GitCommit } from '../../../harness/contract/platform/git-commit.ts';
import type { Group } from '../../../harness/contract/platform/group.ts';
import { RESOURCE_KINDS, type ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import type { Release } from '../../../harness/contract/platform/release.ts';

export interface BaseRow {
  seq: number;
  id: string;
  created_at: string;
}

export type ConfigTypeRow = BaseRow & Pick<ConfigType, 'name' | 'slug' | 'updated_at'>;

export interface ConfigSchemaRow
  extends BaseRow,
    Pick<ConfigSchema, 'config_type_id' | 'digest' | 'language' | 'format' | 'instance_format' | 'updated_at'> {
  instance_slots: string;
  /** JSON array of `{id, name, data}`. */
  documents: string;
  git_commit: string | null;
}

export interface ConfigInstanceRow
  extends BaseRow,
    Pick<ConfigInstance, 'config_schema_id' | 'config_type_id' | 'slot_key' | 'filepath'> {
  content_format: InstanceFormat;
}

export interface ReleaseRow extends BaseRow, Pick<Release, 'version' | 'git_commit_id' | 'updated_at'> {
  config_schema_ids: string;
}

type DeploymentColumn =
  | `${'activity' | 'error' | 'target'}_status`
  | `${'device' | 'release' | 'parent'}_id`
  | `${'queued' | 'deployed' | 'archived' | 'updated'}_at`
  | 'description';

export interface DeploymentRow extends BaseRow, Pick<PlatformDeployment, DeploymentColumn> {
  config_instance_ids: string;
  /** Last position among all queued deployments when this deployment was created. */
  queue_before: number;
  /** Position among all queued deployments; null until the deployment is queued. */
  queue_order: number | null;
  /** Last activity that the agent knows; null before it learns of the deployment and after its last report. */
  agent_activity: DeploymentActivityStatus | null;
}

type DeviceColumn =
  | `${'last_connected' | 'last_disconnected' | 'updated'}_at`
  | ('name' | 'description' | 'status' | 'agent_version' | 'group_id');

export const UNPROVISIONED = {
  current_deployment_id: null,
  current_release_id: null,
  target_deployment_id: null,
  session_id: null,
  public_key_pem: null,
  key_fingerprint: null,
} as const;

export type DeviceRow = BaseRow & Pick<Device, DeviceColumn> & Record<keyof typeof UNPROVISIONED, string | null>;

export type GroupRow = BaseRow & Pick<Group, 'name' | 'parent_id' | 'updated_at'>;

export type GitCommitRow = BaseRow &
  Pick<GitCommit, 'sha' | 'message' | `repository_${'owner' | 'name' | 'type' | 'url'}` | 'commit_url'>;

export interface Rows extends Record<ResourceKind, BaseRow> {
  config_type: ConfigTypeRow;
  config_schema: ConfigSchemaRow;
  config_instance: ConfigInstanceRow;
  release: ReleaseRow;
  deployment: DeploymentRow;
  device: DeviceRow;
  group: GroupRow;
  git_commit: GitCommitRow;
}

export interface Resources extends Record<ResourceKind, object> {
  config_type: ConfigType;
  config_schema: ConfigSchema;
  config_instance: ConfigInstance;
  release: Release;
  deployment: PlatformDeployment;
  device: Device;
  group: Group;
  git_commit: GitCommit;
}

interface Table {
  columns: Readonly<Record<string, string>>;
  /** Columns with few distinct values, kept in memory for fast filters and counts. */
  facets: readonly string[];
  /** Columns beside `id` that have an SQL index, because a filter by them matches few rows. */
  selective: readonly string[];
}

const all = (type: string, names: readonly string[]) => Object.fromEntries(names.map((name) => [name, type]));
const text = (...names: string[]) => all('TEXT NOT NULL', names);
const maybe = (...names: string[]) => all('TEXT', names);

const table = ({ columns, facets = [], selective = [] }: Pick<Table, 'columns'> & Partial<Table>): Table => ({
  columns: { id: 'TEXT NOT NULL UNIQUE', ...text('created_at'), ...columns },
  facets,
  selective,
});

export const TABLES: Record<ResourceKind, Table> = {
  config_type: table({ columns: text('name', 'slug', 'updated_at'), selective: ['name', 'slug'] }),
  config_schema: table({
    columns: {
      ...text('config_type_id', 'digest', 'language', 'format', 'instance_format', 'instance_slots', 'documents'),
      ...text('updated_at'),
      ...maybe('git_commit'),
    },
    facets: ['config_type_id'],
  }),
  config_instance: table({
    columns: text('config_schema_id', 'config_type_id', 'slot_key', 'filepath', 'content_format'),
    facets: ['config_schema_id', 'config_type_id', 'slot_key'],
  }),
  release: table({
    columns: { ...text('version', 'config_schema_ids', 'updated_at'), ...maybe('git_commit_id') },
    selective: ['version'],
  }),
  deployment: table({
    columns: {
      ...text('description', 'activity_status', 'error_status', 'target_status', 'device_id', 'release_id'),
      ...text('updated_at', 'config_instance_ids'),
      ...maybe('parent_id', 'queued_at', 'deployed_at', 'archived_at'),
      queue_before: 'INTEGER NOT NULL',
      queue_order: 'INTEGER',
      ...maybe('agent_activity'),
    },
    facets: ['target_status', 'activity_status', 'error_status', 'release_id'],
    selective: ['device_id'],
  }),
  device: table({
    columns: {
      ...text('name', 'status', 'updated_at'),
      ...maybe('description', 'agent_version', 'last_connected_at', 'last_disconnected_at', 'group_id'),
      ...maybe(...Object.keys(UNPROVISIONED)),
    },
    facets: ['status', 'group_id', 'agent_version', 'current_release_id'],
    selective: ['name'],
  }),
  group: table({
    columns: { ...text('name', 'updated_at'), ...maybe('parent_id') },
    facets: ['parent_id'],
    selective: ['name'],
  }),
  git_commit: table({
    columns: {
      ...text('sha', 'message', 'repository_owner', 'repository_name', 'repository_type'),
      ...text('repository_url', 'commit_url'),
    },
    selective: ['sha'],
  }),
};

/** Content has a separate table, so that lists do not read content. */
export const SCHEMA_STATEMENTS: readonly string[] = [
  ...RESOURCE_KINDS.flatMap((kind) => {
    const name = RESOURCES[kind].collection;
    const { columns, selective } = TABLES[kind];
    const lines = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
    return [
      `CREATE TABLE IF NOT EXISTS ${name} (seq INTEGER PRIMARY KEY, ${lines.join(', ')}) STRICT`,
      ...selective.map((column) => `CREATE INDEX IF NOT EXISTS ${name}_${column} ON ${name} (${column})`),
    ];
  }),
  'CREATE TABLE IF NOT EXISTS config_contents (config_instance_id TEXT PRIMARY KEY, data BLOB NOT NULL) ' +
    'STRICT, WITHOUT ROWID',
  `CREATE TABLE IF NOT EXISTS tokens (digest TEXT PRIMARY KEY, device_id TEXT, reactivates INTEGER NOT NULL,
    expires_at TEXT NOT NULL) STRICT, WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS token_uses (digest TEXT NOT NULL, device_id TEXT NOT NULL,
    PRIMARY KEY (digest, device_id)) STRICT, WITHOUT ROWID`,
  'CREATE UNIQUE INDEX IF NOT EXISTS devices_key ON devices (key_fingerprint) WHERE key_fingerprint IS NOT NULL',
];

export interface OrderTerm {
  field: string;
  descending: boolean;
}

/** Drops repeated fields and appends `id`, so that no two rows are equal in the order. */
export function totalOrder(terms: readonly OrderTerm[]): OrderTerm[] {
  const seen = new Set<string>();
  const kept = terms.filter(({ field }) => !seen.has(field) && seen.add(field));
  const end = kept.findIndex(({ field }) => field === 'id');
  return end === -1 ? [...kept, { field: 'id', descending: false }] : kept.slice(0, end + 1);
}

export const NEWEST_FIRST = totalOrder([{ field: 'created_at', descending: true }]);

export type Filters = Readonly<Record<string, readonly string[]>>;

export interface Matching {
  slice(start: number, count: number): number[];
  count(): number;
}

export const knownRows = (seqs: number[]): Matching => ({
  slice: (start, count) => seqs.slice(start, start + count),
  count: () => seqs.length,
});
