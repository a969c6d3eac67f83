/** A row as the resource of the newest version, without expansions. */
import type { ConfigInstance } from '../../../harness/contract/platform/config-instance.ts';
import type { ConfigSchema } from '../../../harness/contract/platform/config-schema.ts';
import type { ConfigType } from '../../../harness/contract/platform/config-type.ts';
import type { PlatformDeployment } from '../../../harness/contract/platform/deployment.ts';
import type { Device } from '../../../harness/contract/platform/device.ts';
import type { GitCommit } from '../../../harness/contract/platform/git-commit.ts';
import type { Group } from '../../../harness/contract/platform/group.ts';
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import type { Release } from '../../../harness/contract/platform/release.ts';
import type { Core } from '../core.ts';
import type { Rows } from '../store/rows.ts';

interface Shown extends Record<ResourceKind, object> {
  config_type: ConfigType;
  config_schema: ConfigSchema;
  config_instance: ConfigInstance;
  release: Release;
  deployment: PlatformDeployment;
  device: Device;
  group: Group;
  git_commit: GitCommit;
}

const typeName = (core: Core, id: string): string => core.store.collections.config_type.byId(id)?.name ?? '';

/** One view a resource. */
export const VIEWS: { [K in ResourceKind]: (core: Core, row: Rows[K]) => Shown[K] } = {
  config_type: (_core, row) => ({
    object: 'config_type',
    id: row.id,
    name: row.name,
    slug: row.slug,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }),
  config_schema: (core, row) => ({
    object: 'config_schema',
    id: row.id,
    digest: row.digest,
    config_type_name: typeName(core, row.config_type_id),
    instance_slots: JSON.parse(row.instance_slots),
    instance_format: row.instance_format,
    created_at: row.created_at,
    updated_at: row.updated_at,
    config_type_id: row.config_type_id,
    language: row.language,
    format: row.format,
  }),
  config_instance: (core, row) => ({
    object: 'config_instance',
    id: row.id,
    config_type_name: typeName(core, row.config_type_id),
    filepath: row.filepath,
    slot_key: row.slot_key,
    created_at: row.created_at,
    config_schema_id: row.config_schema_id,
    config_type_id: row.config_type_id,
  }),
  release: (_core, row) => ({
    object: 'release',
    id: row.id,
    version: row.version,
    git_commit_id: row.git_commit_id,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }),
  deployment: (core, row) => ({
    object: 'deployment',
    id: row.id,
    description: row.description,
    status: core.behaviour.mergeStatus(row.activity_status, row.error_status),
    activity_status: row.activity_status,
    error_status: row.error_status,
    target_status: row.target_status,
    device_id: row.device_id,
    release_id: row.release_id,
    parent_id: row.parent_id,
    created_at: row.created_at,
    updated_at: row.updated_at,
    queued_at: row.queued_at,
    deployed_at: row.deployed_at,
    archived_at: row.archived_at,
  }),
  device: (_core, row) => ({
    object: 'device',
    id: row.id,
    name: row.name,
    description: row.description,
    status: row.status,
    agent_version: row.agent_version,
    last_connected_at: row.last_connected_at,
    last_disconnected_at: row.last_disconnected_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
    group_id: row.group_id,
  }),
  group: (_core, row) => ({
    object: 'group',
    id: row.id,
    name: row.name,
    parent_id: row.parent_id,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }),
  git_commit: (_core, row) => ({
    object: 'git_commit',
    id: row.id,
    sha: row.sha,
    message: row.message,
    repository_owner: row.repository_owner,
    repository_name: row.repository_name,
    repository_type: row.repository_type,
    repository_url: row.repository_url,
    commit_url: row.commit_url,
    created_at: row.created_at,
  }),
};
