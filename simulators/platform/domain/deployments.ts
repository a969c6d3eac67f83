/** Creating, deploying and archiving deployments: target and activity only move forward (specification sections 2.2 and 3). */
import type { CreateDeployment } from '../../../harness/contract/platform/deployment.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import type { Core } from '../core.ts';
import type { DeploymentRow, DeviceRow } from '../store/rows.ts';
import { conflict, createdNow, find, insert } from './find.ts';
import { checkInstances } from './slots.ts';
import { advance } from './transitions.ts';

/**
 * Stages or deploys. Throws PlatformError for an unknown reference, an archived device, or a parent
 * that does not hold (section 9, rule 3).
 */
export function createDeployment(core: Core, request: CreateDeployment, version: SupportedVersion): DeploymentRow {
  const { behaviour, store } = core;
  const device = find(core, 'device', request.device_id);
  refuseArchived(device);
  const release = find(core, 'release', request.release_id);
  const instances = request.config_instance_ids.map((id) => find(core, 'config_instance', id));
  if (behaviour.validatesSlots) checkInstances(core, release, instances);
  const parentId = parentOf(core, device, request, version);
  const created = store.write(() => {
    const staged = insert(core, 'deployment', {
      description: request.description,
      activity_status: 'staged',
      error_status: 'none',
      target_status: 'staged',
      device_id: device.id,
      release_id: release.id,
      parent_id: parentId,
      ...createdNow(core),
      queued_at: null,
      deployed_at: null,
      archived_at: null,
      config_instance_ids: JSON.stringify(request.config_instance_ids),
      queue_before: store.queued,
      queue_order: null,
      agent_activity: null,
    });
    return request.target_status === 'deployed' ? target(core, staged) : staged;
  });
  if (request.target_status === 'deployed' && behaviour.notifies) core.messenger.requestSync(device.id);
  return created;
}

/** Makes a staged deployment the target of its device. Throws PlatformError 409 when it has drifted or is past that. */
export function deployDeployment(core: Core, id: string): DeploymentRow {
  const row = find(core, 'deployment', id);
  const device = find(core, 'device', row.device_id);
  refuseArchived(device);
  if (row.activity_status === 'drifted') {
    throw conflict('deployment_drifted', 'the deployment has drifted: stage it again, or archive it', { id });
  }
  if (!core.behaviour.mayTarget(row.target_status, 'deployed')) {
    throw conflict('invalid_transition', `a deployment whose target is ${row.target_status} cannot be deployed`, {
      id,
    });
  }
  const deployed = core.store.write(() => target(core, row));
  if (core.behaviour.notifies) core.messenger.requestSync(row.device_id);
  return deployed;
}

/** Published rule: only staged and drifted deployments are archived by request; one on a device is replaced. */
export function archiveDeployment(core: Core, id: string): DeploymentRow {
  const row = find(core, 'deployment', id);
  if (row.activity_status !== 'staged' && row.activity_status !== 'drifted') {
    const remedy = row.activity_status === 'archived' ? '' : '; deploying another replaces it';
    throw conflict(
      'invalid_transition',
      `a deployment that is ${row.activity_status} cannot be archived, only one that is staged or drifted${remedy}`,
      { id },
    );
  }
  return core.store.write(() => advance(core, row, { target: 'archived', activity: 'archived' }));
}

/** Deployments that were queued for the device since this one was staged, newest first. */
export function driftsOf(core: Core, id: string): DeploymentRow[] {
  const row = find(core, 'deployment', id);
  const until = row.queue_order ?? Number.POSITIVE_INFINITY;
  const since = (other: DeploymentRow) => other.queue_order ?? 0;
  return core.store.collections.deployment
    .where({ device_id: row.device_id })
    .filter((other) => since(other) > row.queue_before && since(other) < until)
    .sort((left, right) => since(right) - since(left));
}

/** Makes it the device's only target. */
function target(core: Core, row: DeploymentRow): DeploymentRow {
  const { behaviour, store } = core;
  const device = find(core, 'device', row.device_id);
  const prior = device.target_deployment_id;
  if (prior !== null && behaviour.replaces) {
    const replaced = find(core, 'deployment', prior);
    advance(core, replaced, { target: 'archived', activity: behaviour.retired(replaced.activity_status) });
  }
  const queued = advance(core, row, { target: 'deployed', activity: 'queued', queueOrder: store.nextInQueue() });
  store.collections.device.update(device, { target_deployment_id: row.id });
  if (behaviour.driftsOn === 'target') drift(core, row);
  return queued;
}

/** Other staged deployments of the device were staged against another configuration, so they drift. */
export function drift(core: Core, cause: DeploymentRow): void {
  const staged = { device_id: cause.device_id, activity_status: 'staged' } as const;
  for (const other of core.store.collections.deployment.where(staged)) {
    if (other.id !== cause.id) advance(core, other, { activity: 'drifted' });
  }
}

/** Section 9, rule 3: omitted makes no claim, `null` claims that the device has no current target. */
function parentOf(core: Core, device: DeviceRow, request: CreateDeployment, version: SupportedVersion): string | null {
  const given = request.parent_id;
  const current = device.target_deployment_id;
  if (typeof given === 'string' && find(core, 'deployment', given).device_id !== device.id) {
    throw conflict('parent_mismatch', 'parent_id: that deployment belongs to another device', { parent_id: given });
  }
  if (!core.behaviour.parentHolds(given, current, version)) {
    throw conflict('parent_mismatch', 'parent_id: the current target deployment of the device is another', {
      parent_id: given,
      current_target_id: current,
    });
  }
  return given === undefined ? current : given;
}

function refuseArchived(device: DeviceRow): void {
  if (device.status === 'archived') {
    throw conflict('device_archived', 'nothing can be deployed to an archived device', { device_id: device.id });
  }
}
