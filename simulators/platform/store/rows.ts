/** What the store keeps of each resource, in the newest version's vocabulary. `seq` is the row number, in order of creation. */

import type {
  DeploymentActivityStatus,
  DeploymentErrorStatus,
  DeploymentTargetStatus,
} from '../../../harness/contract/enums.ts';
import type { InstanceFormat } from '../../../harness/contract/platform/config-instance.ts';
import type { ConfigSchema } from '../../../harness/contract/platform/config-schema.ts';
import type { DeviceStatus } from '../../../harness/contract/platform/device.ts';
import type { GitRepositoryType } from '../../../harness/contract/platform/git-commit.ts';
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';

export interface BaseRow {
  seq: number;
  id: string;
  created_at: string;
}

export interface ConfigTypeRow extends BaseRow {
  name: string;
  slug: string;
  updated_at: string;
}

export interface ConfigSchemaRow extends BaseRow {
  config_type_id: string;
  digest: string;
  language: ConfigSchema['language'];
  format: ConfigSchema['format'];
  instance_format: InstanceFormat;
  /** JSON array of slots. */
  instance_slots: string;
  /** JSON array of `{id, name, data}`. */
  documents: string;
  /** JSON object, or null. */
  git_commit: string | null;
  updated_at: string;
}

export interface ConfigInstanceRow extends BaseRow {
  config_schema_id: string;
  config_type_id: string;
  slot_key: string;
  filepath: string;
  content_format: InstanceFormat;
}

export interface ReleaseRow extends BaseRow {
  version: string;
  git_commit_id: string | null;
  /** JSON array of ids. */
  config_schema_ids: string;
  updated_at: string;
}

export interface DeploymentRow extends BaseRow {
  description: string;
  activity_status: DeploymentActivityStatus;
  error_status: DeploymentErrorStatus;
  target_status: DeploymentTargetStatus;
  device_id: string;
  release_id: string;
  parent_id: string | null;
  queued_at: string | null;
  deployed_at: string | null;
  archived_at: string | null;
  updated_at: string;
  /** JSON array of ids. */
  config_instance_ids: string;
  /** How many deployments had been queued, on any device, when this one was created. */
  queue_before: number;
  /** Its own number among them; null until queued. */
  queue_order: number | null;
  /** The activity as its agent knows it; null before the agent was told of it, and once the agent has reported it archived. */
  agent_activity: DeploymentActivityStatus | null;
}

export interface DeviceRow extends BaseRow {
  name: string;
  description: string | null;
  status: DeviceStatus;
  agent_version: string | null;
  last_connected_at: string | null;
  last_disconnected_at: string | null;
  updated_at: string;
  group_id: string | null;
  /** On the device now. */
  current_deployment_id: string | null;
  current_release_id: string | null;
  /** The one whose target status is `deployed`. */
  target_deployment_id: string | null;
  session_id: string | null;
  public_key_pem: string | null;
  key_fingerprint: string | null;
}

/** Columns of a device that no agent has provisioned. */
export const UNPROVISIONED = {
  current_deployment_id: null,
  current_release_id: null,
  target_deployment_id: null,
  session_id: null,
  public_key_pem: null,
  key_fingerprint: null,
} as const;

export interface GroupRow extends BaseRow {
  name: string;
  parent_id: string | null;
  updated_at: string;
}

export interface GitCommitRow extends BaseRow {
  sha: string;
  message: string;
  repository_owner: string;
  repository_name: string;
  repository_type: GitRepositoryType;
  repository_url: string;
  commit_url: string;
}

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
