/** The tables: columns, and how each is filtered. What must be unique is checked in `domain/`, before a write. */
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';

export interface TableSpec {
  table: string;
  /** Column name to SQL type, without `seq`. */
  columns: Record<string, string>;
  /** Columns with few values, held in memory: filters and counts on them are quick at any offset. */
  facets: readonly string[];
  /** Columns with many values, indexed: a filter on them yields a few rows. `id` always is one. */
  selective: readonly string[];
}

const all = (type: string, names: readonly string[]) => Object.fromEntries(names.map((name) => [name, type]));
/** Columns that always hold text, and columns that may be null. */
const text = (...names: string[]) => all('TEXT NOT NULL', names);
const maybe = (...names: string[]) => all('TEXT', names);
const base = { id: 'TEXT NOT NULL UNIQUE', ...text('created_at') };

export const TABLES: Record<ResourceKind, TableSpec> = {
  config_type: {
    table: 'config_types',
    columns: { ...base, ...text('name', 'slug', 'updated_at') },
    facets: [],
    selective: ['name', 'slug'],
  },
  config_schema: {
    table: 'config_schemas',
    columns: {
      ...base,
      ...text('config_type_id', 'digest', 'language', 'format', 'instance_format', 'instance_slots', 'documents'),
      ...text('updated_at'),
      ...maybe('git_commit'),
    },
    facets: ['config_type_id'],
    selective: [],
  },
  config_instance: {
    table: 'config_instances',
    columns: { ...base, ...text('config_schema_id', 'config_type_id', 'slot_key', 'filepath', 'content_format') },
    facets: ['config_schema_id', 'config_type_id', 'slot_key'],
    selective: [],
  },
  release: {
    table: 'releases',
    columns: { ...base, ...text('version', 'config_schema_ids', 'updated_at'), ...maybe('git_commit_id') },
    facets: [],
    selective: ['version'],
  },
  deployment: {
    table: 'deployments',
    columns: {
      ...base,
      ...text('description', 'activity_status', 'error_status', 'target_status', 'device_id', 'release_id'),
      ...text('updated_at', 'config_instance_ids'),
      ...maybe('parent_id', 'queued_at', 'deployed_at', 'archived_at'),
      queue_before: 'INTEGER NOT NULL',
      queue_order: 'INTEGER',
      ...maybe('agent_activity'),
    },
    facets: ['target_status', 'activity_status', 'error_status', 'release_id'],
    selective: ['device_id'],
  },
  device: {
    table: 'devices',
    columns: {
      ...base,
      ...text('name', 'status', 'updated_at'),
      ...maybe('description', 'agent_version', 'last_connected_at', 'last_disconnected_at', 'group_id'),
      ...maybe('current_deployment_id', 'current_release_id', 'target_deployment_id'),
      ...maybe('session_id', 'public_key_pem', 'key_fingerprint'),
    },
    facets: ['status', 'group_id', 'agent_version', 'current_release_id'],
    selective: ['name'],
  },
  group: {
    table: 'groups',
    columns: { ...base, ...text('name', 'updated_at'), ...maybe('parent_id') },
    facets: ['parent_id'],
    selective: ['name'],
  },
  git_commit: {
    table: 'git_commits',
    columns: {
      ...base,
      ...text('sha', 'message', 'repository_owner', 'repository_name', 'repository_type'),
      ...text('repository_url', 'commit_url'),
    },
    facets: [],
    selective: ['sha'],
  },
};

/** Tables without a list. Content has its own, so that listing instances does not read it. */
const OTHER_TABLES = [
  'CREATE TABLE IF NOT EXISTS config_contents (config_instance_id TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT, WITHOUT ROWID',
  `CREATE TABLE IF NOT EXISTS tokens (digest TEXT PRIMARY KEY, device_id TEXT, reactivates INTEGER NOT NULL,
    expires_at TEXT NOT NULL) STRICT, WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS token_uses (digest TEXT NOT NULL, device_id TEXT NOT NULL,
    PRIMARY KEY (digest, device_id)) STRICT, WITHOUT ROWID`,
  'CREATE UNIQUE INDEX IF NOT EXISTS devices_key ON devices (key_fingerprint) WHERE key_fingerprint IS NOT NULL',
];

/** SQL that creates what a database lacks. */
export function schemaStatements(): string[] {
  const statements = Object.values(TABLES).flatMap(({ table, columns, selective }) => {
    const lines = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
    return [
      `CREATE TABLE IF NOT EXISTS ${table} (seq INTEGER PRIMARY KEY, ${lines.join(', ')}) STRICT`,
      ...selective.map((column) => `CREATE INDEX IF NOT EXISTS ${table}_${column} ON ${table} (${column})`),
    ];
  });
  return [...statements, ...OTHER_TABLES];
}
