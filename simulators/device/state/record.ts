/** Records of deployments: how they begin, and how they end. */
import type { AgentDeployment } from '../../../harness/contract/agent.ts';
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import type { DeploymentTargetStatus } from '../../../harness/contract/enums.ts';
import type { DeploymentRecord } from './stored-state.ts';

/** The target status of each activity, when none is asked for. */
const TARGET_OF: Record<DeploymentRecord['activity_status'], DeploymentTargetStatus> = {
  drifted: 'staged',
  staged: 'staged',
  queued: 'deployed',
  deployed: 'deployed',
  removing: 'archived',
  archived: 'archived',
};

/** The record of a deployment that the platform sent. */
export function recordFrom(wanted: AgentDeployment): DeploymentRecord {
  const { id, description, activity_status, error_status, target_status, device_id, release_id, created_at } = wanted;
  return { id, description, activity_status, error_status, target_status, device_id, release_id, created_at };
}

/** The record of a deployment that the control API asks for. */
export function recordOf(
  wanted: ControlDeployment,
  ids: { id: string; release: string; device: string },
  now: string,
): DeploymentRecord {
  const activity = wanted.activity_status ?? 'deployed';
  return {
    id: ids.id,
    description: wanted.description ?? 'Driven by the control API',
    activity_status: activity,
    error_status: wanted.error_status ?? 'none',
    target_status: wanted.target_status ?? TARGET_OF[activity],
    device_id: ids.device,
    release_id: wanted.release_id ?? ids.release,
    created_at: now,
    ...(activity === 'archived' ? { archived_at: now } : {}),
  };
}

/** Whether its config files are on the device. */
export const isActive = ({ deployed_at, archived_at }: DeploymentRecord): boolean => {
  return deployed_at !== undefined && archived_at === undefined;
};

/** Ends a deployment: archived at that time. */
export function markArchived(record: DeploymentRecord, now: string): void {
  record.activity_status = 'archived';
  record.target_status = 'archived';
  record.archived_at = now;
}
