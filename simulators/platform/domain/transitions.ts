/** One step of a deployment, with the moments it records. */
import type {
  DeploymentActivityStatus,
  DeploymentErrorStatus,
  DeploymentTargetStatus,
} from '../../../harness/contract/enums.ts';
import { timestamp } from '../../common/clock.ts';
import type { Core } from '../core.ts';
import type { DeploymentRow } from '../store/rows.ts';

export interface Step {
  target?: DeploymentTargetStatus;
  activity?: DeploymentActivityStatus;
  error?: DeploymentErrorStatus;
  queueOrder?: number;
  /** When it happened, as the agent saw it. */
  deployedAt?: string;
  archivedAt?: string;
}

/** Writes the step; the caller has decided that it is allowed. */
export function advance(core: Core, row: DeploymentRow, step: Step): DeploymentRow {
  const now = timestamp(core.clock);
  const changes: Partial<DeploymentRow> = { updated_at: now };
  if (step.target !== undefined) changes.target_status = step.target;
  if (step.activity !== undefined) changes.activity_status = step.activity;
  if (step.error !== undefined) changes.error_status = step.error;
  if (step.queueOrder !== undefined) changes.queue_order = step.queueOrder;
  const { stamp } = core.behaviour;
  const entered = step.activity === row.activity_status ? undefined : step.activity;
  if (entered === 'queued') changes.queued_at = stamp('queued', { now, after: row.created_at });
  if (entered === 'deployed' || (entered !== undefined && step.deployedAt !== undefined && row.deployed_at === null)) {
    const after = row.queued_at ?? row.created_at;
    changes.deployed_at = stamp('deployed', { now, after, ...reported(step.deployedAt) });
  }
  if (entered === 'archived') {
    const after = changes.deployed_at ?? row.deployed_at ?? row.queued_at ?? row.created_at;
    changes.archived_at = stamp('archived', { now, after, ...reported(step.archivedAt) });
  }
  const updated = core.store.collections.deployment.update(row, changes);
  if (entered === 'deployed' || entered === 'archived') followOnDevice(core, updated, entered);
  return updated;
}

const reported = (text: string | undefined) => (text === undefined ? {} : { reported: text });

/** Updates the device's current and target deployment after a step of one of its deployments. */
function followOnDevice(core: Core, row: DeploymentRow, entered: 'deployed' | 'archived'): void {
  const devices = core.store.collections.device;
  const device = devices.byId(row.device_id);
  if (device === undefined) return;
  if (entered === 'deployed') {
    devices.update(device, { current_deployment_id: row.id, current_release_id: row.release_id });
    return;
  }
  devices.update(device, {
    ...(device.target_deployment_id === row.id && { target_deployment_id: null }),
    ...(device.current_deployment_id === row.id && { current_deployment_id: null, current_release_id: null }),
  });
}
