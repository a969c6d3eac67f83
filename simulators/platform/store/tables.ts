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

const text = 'TEXT NOT NULL';
const id = 'TEXT NOT NULL UNIQUE';
const maybe = 'TEXT';

export const TABLES: Record<ResourceKind, TableSpec> = {
  config_type: {
    table: 'config_types',
    columns: { id, created_at: text, name: text, slug: text, updated_at: text },
    facets: [],
    selective: ['name', 'slug'],
  },
  config_schema: {
    table: 'config_schemas',
    columns: {
      id,
      created_at: text,
      config_type_id: text,
      digest: text,
      language: text,
      format: text,
      instance_format: text,
      instance_slots: text,
      documents: text,
      git_commit: maybe,
      updated_at: text,
    },
    facets: ['config_type_id'],
    selective: [],
  },
  config_instance: {
    table: 'config_instances',
    columns: {
      id,
      created_at: text,
      config_schema_id: text,
      config_type_id: text,
      slot_key: text,
      filepath: text,
      content_format: text,
    },
    facets: ['config_schema_id', 'config_type_id', 'slot_key'],
    selective: [],
  },
  release: {
    table: 'releases',
    columns: {
      id,
      created_at: text,
      version: text,
      git_commit_id: maybe,
      config_schema_ids: text,
      updated_at: text,
    },
    facets: [],
    selective: ['version'],
  },
  deployment: {
    table: 'deployments',
    columns: {
      id,
      created_at: text,
      description: text,
      activity_status: text,
      error_status: text,
      target_status: text,
      device_id: text,
      release_id: text,
      parent_id: maybe,
      queued_at: maybe,
      deployed_at: maybe,
      archived_at: maybe,
      updated_at: text,
      config_instance_ids: text,
      queue_before: 'INTEGER NOT NULL',
      queue_order: 'INTEGER',
    },
    facets: ['target_status', 'activity_status', 'error_status', 'release_id'],
    selective: ['device_id'],
  },
  device: {
    table: 'devices',
    columns: {
      id,
      created_at: text,
      name: text,
      description: maybe,
      status: text,
      agent_version: maybe,
      last_connected_at: maybe,
      last_disconnected_at: maybe,
      updated_at: text,
      group_id: maybe,
      current_deployment_id: maybe,
      current_release_id: maybe,
      target_deployment_id: maybe,
      session_id: maybe,
      public_key_pem: maybe,
      key_fingerprint: maybe,
    },
    facets: ['status', 'group_id', 'agent_version', 'current_release_id'],
    selective: ['name'],
  },
  group: {
    table: 'groups',
    columns: { id, created_at: text, name: text, parent_id: maybe, updated_at: text },
    facets: ['parent_id'],
    selective: ['name'],
  },
  git_commit: {
    table: 'git_commits',
    columns: {
      id,
      created_at: text,
      sha: text,
      message: text,
      repository_owner: text,
      repository_name: text,
      repository_type: text,
      repository_url: text,
      commit_url: text,
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
