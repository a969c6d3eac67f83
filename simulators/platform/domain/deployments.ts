/** Life of deployments, whose target and activity only move forward (sections 2.2 and 3 of the specification). */

import { defined } from '../../../harness/common/defined.ts';
import type { DeploymentReport } from '../../../harness/contract/agent.ts';
import type { CreateDeployment } from '../../../harness/contract/platform/deployment.ts';
import { instantOf } from '../../../harness/contract/shape.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import { timestamp } from '../../common/clock.ts';
import type { Core } from '../core.ts';
import type { ConfigInstanceRow, DeploymentRow, DeviceRow, ReleaseRow } from '../store/rows.ts';
import { slotsOfSchema } from './configs.ts';
import { conflict, createdNow, findRow, insert, invalid } from './find.ts';

function checkInstances(core: Core, release: ReleaseRow, instances: readonly ConfigInstanceRow[]): void {
  const wrong = (message: string, params: Record<string, unknown>) =>
    invalid('invalid_config_instances', `config_instance_ids: ${message}`, params);
  const schemaIds = JSON.parse(release.config_schema_ids) as string[];
  const filled = new Set<string>();
  for (const { id, config_schema_id, slot_key } of instances) {
    if (!schemaIds.includes(config_schema_id))
      throw wrong(`${id} is of a schema that the release lacks`, { config_instance_id: id });
    const slot = `${config_schema_id} ${slot_key}`;
    if (filled.has(slot)) throw wrong(`the slot ${slot} is filled twice`, { config_schema_id, slot_key });
    filled.add(slot);
  }
  for (const id of schemaIds) {
    for (const { key, required } of slotsOfSchema(findRow(core, 'config_schema', id))) {
      if (!required || filled.has(`${id} ${key}`)) continue;
      throw wrong(`the required slot ${id} ${key} is empty`, { config_schema_id: id, slot_key: key });
    }
  }
}

type Step = Partial<Pick<DeploymentRow, 'target_status' | 'activity_status' | 'error_status' | 'queue_order'>> &
  Pick<DeploymentReport, 'deployed_at' | 'archived_at'>;

/** Keeps a reported time between `after` and `now`, because the agent's clock may be wrong. */
export function recorded(now: string, after: string, reported = now): string {
  const latest = Math.max(Date.parse(now), Date.parse(after));
  return new Date(Math.min(latest, Math.max(instantOf(reported), Date.parse(after)))).toISOString();
}

/** Moves a deployment, and updates its times and its device; does not check whether the move is allowed. */
export function advance(core: Core, row: DeploymentRow, { deployed_at, archived_at, ...step }: Step): DeploymentRow {
  const now = timestamp(core.clock);
  const changes: Partial<DeploymentRow> = { updated_at: now, ...step };
  const entered = step.activity_status === row.activity_status ? undefined : step.activity_status;
  if (entered === 'queued') changes.queued_at = recorded(now, row.created_at);
  if (entered === 'deployed' || (entered !== undefined && deployed_at !== undefined && row.deployed_at === null))
    changes.deployed_at = recorded(now, row.queued_at ?? row.created_at, deployed_at);
  if (entered === 'archived') {
    const after = changes.deployed_at ?? row.deployed_at ?? row.queued_at ?? row.created_at;
    changes.archived_at = recorded(now, after, archived_at);
  }
  const { deployment: deployments, device: devices } = core.store.collections;
  const updated = deployments.update(row, changes);
  const device = entered === 'deployed' || entered === 'archived' ? devices.byId(row.device_id) : undefined;
  if (device === undefined) return updated;
  if (entered === 'deployed')
    devices.update(device, { current_deployment_id: row.id, current_release_id: row.release_id });
  else
    devices.update(device, {
      ...(device.target_deployment_id === row.id && { target_deployment_id: null }),
      ...(device.current_deployment_id === row.id && { current_deployment_id: null, current_release_id: null }),
    });
  return updated;
}

export function createDeployment(core: Core, request: CreateDeployment, version: SupportedVersion): DeploymentRow {
  const { behaviour, store } = core;
  const device = requireLiveDevice(core, request.device_id);
  const release = findRow(core, 'release', request.release_id);
  const instances = request.config_instance_ids.map((id) => findRow(core, 'config_instance', id));
  checkInstances(core, release, instances);
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

export function deployDeployment(core: Core, id: string): DeploymentRow {
  const row = findRow(core, 'deployment', id);
  requireLiveDevice(core, row.device_id);
  if (row.activity_status === 'drifted' && !core.behaviour.deploysDrifted)
    throw conflict('deployment_drifted', 'the deployment has drifted: stage it again, or archive it', { id });
  const deployed = core.store.write(() => target(core, row));
  if (core.behaviour.notifies) core.messenger.requestSync(row.device_id);
  return deployed;
}

export function archiveDeployment(core: Core, id: string): DeploymentRow {
  const row = findRow(core, 'deployment', id);
  const { activity_status: activity } = row;
  if (activity !== 'staged' && activity !== 'drifted') {
    const remedy = activity === 'archived' ? '' : '; deploying another replaces it';
    const message = `a deployment that is ${activity} cannot be archived, only one that is staged or drifted${remedy}`;
    throw conflict('invalid_transition', message, { id });
  }
  return core.store.write(() => advance(core, row, { target_status: 'archived', activity_status: 'archived' }));
}

/** Deployments queued on the device after deployment `id` was staged and before it was queued itself, newest first. */
export function driftsOf(core: Core, id: string): DeploymentRow[] {
  const row = findRow(core, 'deployment', id);
  const until = row.queue_order ?? Number.POSITIVE_INFINITY;
  const since = (other: DeploymentRow) => other.queue_order ?? 0;
  return core.store.collections.deployment
    .where({ device_id: row.device_id })
    .filter((other) => since(other) > row.queue_before && since(other) < until)
    .sort((left, right) => since(right) - since(left));
}

function target(core: Core, row: DeploymentRow): DeploymentRow {
  const { behaviour, store } = core;
  const { id, target_status: from } = row;
  if (!behaviour.mayTarget(from, 'deployed', row))
    throw conflict('invalid_transition', `a deployment whose target is ${from} cannot be deployed`, { id });
  const device = findRow(core, 'device', row.device_id);
  const prior = device.target_deployment_id;
  if (prior !== null && behaviour.replaces) {
    const replaced = findRow(core, 'deployment', prior);
    const activity_status = behaviour.retired(replaced.activity_status);
    advance(core, replaced, { target_status: 'archived', activity_status });
  }
  const step = { target_status: 'deployed', activity_status: 'queued', queue_order: store.nextInQueue() } as const;
  const queued = advance(core, row, step);
  store.collections.device.update(device, { target_deployment_id: row.id });
  if (behaviour.driftsOn === 'target') drift(core, row);
  return queued;
}

function drift(core: Core, cause: DeploymentRow): void {
  const staged = { device_id: cause.device_id, activity_status: 'staged' } as const;
  for (const other of core.store.collections.deployment.where(staged))
    if (other.id !== cause.id) advance(core, other, { activity_status: 'drifted' });
}

/**
 * Checks `parent_id`: `null` asserts that the device has no target, a missing one asserts nothing (section 9 of the
 * specification, rule 3).
 */
function parentOf(core: Core, device: DeviceRow, request: CreateDeployment, version: SupportedVersion): string | null {
  const given = request.parent_id;
  const current = device.target_deployment_id;
  if (typeof given === 'string' && findRow(core, 'deployment', given).device_id !== device.id)
    throw conflict('parent_mismatch', 'parent_id: that deployment belongs to another device', { parent_id: given });
  if (!core.behaviour.parentHolds(given, current, version)) {
    const params = { parent_id: given, current_target_id: current };
    throw conflict('parent_mismatch', 'parent_id: the current target deployment of the device is another', params);
  }
  return given === undefined ? current : given;
}

function requireLiveDevice(core: Core, id: string): DeviceRow {
  const device = findRow(core, 'device', id);
  if (device.status !== 'archived') return device;
  throw conflict('device_archived', 'nothing can be deployed to an archived device', { device_id: id });
}

/**
 * Ignores a step backwards, and any error after `failed` (section 2.2 of the specification). Throws PlatformError 409
 * for a staged deployment.
 */
export function applyReport(core: Core, row: DeploymentRow, reported: DeploymentReport): DeploymentRow {
  const { behaviour, store } = core;
  const report = behaviour.report(reported);
  if (report === undefined) return row;
  if (row.target_status === 'staged')
    throw conflict('invalid_transition', 'a staged deployment is on no device: there is nothing to report');
  return store.write(() => {
    // Records the reported activity as known to the agent, even if the report is outdated.
    const { activity_status = row.agent_activity } = report;
    const agent_activity = activity_status === 'archived' ? null : activity_status;
    const isKnown = agent_activity === row.agent_activity;
    const known = isKnown ? row : store.collections.deployment.update(row, { agent_activity });
    const step = stepOf(core, known, report);
    if (Object.keys(step).length === 0) return known;
    const updated = advance(core, known, step);
    const device = step.target_status === 'archived' && store.collections.device.byId(row.device_id);
    if (device && device.target_deployment_id === row.id)
      store.collections.device.update(device, { target_deployment_id: null });
    if (step.activity_status === 'deployed' && behaviour.driftsOn === 'deployed') drift(core, updated);
    return updated;
  });
}

function stepOf({ behaviour }: Core, row: DeploymentRow, report: DeploymentReport): Step {
  // The deployment may have been replaced meanwhile.
  if (row.activity_status === 'archived') return {};
  const step: Step = {};
  const { activity_status: activity, error_status: error } = report;
  // A report of an activity that the deployment has already passed is legal.
  if (activity !== undefined && behaviour.mayReport(row.activity_status, activity)) step.activity_status = activity;
  if (error !== undefined && row.error_status !== 'failed') step.error_status = error;
  if (step.error_status === 'failed' && behaviour.failureArchives) {
    step.target_status = 'archived';
    if (step.activity_status !== 'archived')
      step.activity_status = behaviour.retired(step.activity_status ?? row.activity_status);
  }
  const { activity_status: entered = 'staged' } = step;
  if (entered === 'archived' || entered === 'removing') step.target_status = 'archived';
  if (entered !== 'deployed' && entered !== 'removing' && entered !== 'archived') return step;
  return { ...step, ...defined({ deployed_at: report.deployed_at, archived_at: report.archived_at }) };
}
