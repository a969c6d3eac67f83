/** What an agent reports of a deployment: it only ever moves forward; `failed` is final (specification section 2.2). */
import type { DeploymentReport } from '../../../harness/contract/agent.ts';
import type { Core } from '../core.ts';
import type { DeploymentRow } from '../store/rows.ts';
import { drift } from './deployments.ts';
import { conflict } from './find.ts';
import { advance, type Step } from './transitions.ts';

/** Returns the row as it is afterwards. Throws PlatformError 409 for a report on a staged deployment. */
export function applyReport(core: Core, row: DeploymentRow, reported: DeploymentReport): DeploymentRow {
  const { behaviour, store } = core;
  const report = behaviour.report(reported);
  if (report === undefined) return row;
  if (row.target_status === 'staged') {
    throw conflict('invalid_transition', 'a staged deployment is on no device: there is nothing to report');
  }
  return store.write(() => {
    const known = noteKnown(core, row, report);
    const step = stepOf(core, known, report);
    if (Object.keys(step).length === 0) return known;
    const updated = advance(core, known, step);
    if (step.target === 'archived') releaseTarget(core, updated);
    if (step.activity === 'deployed' && behaviour.driftsOn === 'deployed') drift(core, updated);
    return updated;
  });
}

/** Keeps what the agent knows, also where the platform has moved on. */
function noteKnown(core: Core, row: DeploymentRow, { activity_status: activity }: DeploymentReport): DeploymentRow {
  if (activity === undefined) return row;
  const known = activity === 'archived' ? null : activity;
  if (known === row.agent_activity) return row;
  return core.store.collections.deployment.update(row, { agent_activity: known });
}

function stepOf({ behaviour }: Core, row: DeploymentRow, report: DeploymentReport): Step {
  // Archived is final: later reports were on their way when the platform replaced the deployment.
  if (row.activity_status === 'archived') return {};
  const step: Step = {};
  const activity = report.activity_status;
  // A report may arrive after the platform has moved on. That is no error of the agent; it changes nothing.
  if (activity !== undefined && behaviour.mayReport(row.activity_status, activity)) step.activity = activity;
  if (report.error_status !== undefined && row.error_status !== 'failed') step.error = report.error_status;
  if (step.error === 'failed' && behaviour.failureArchives) {
    step.target = 'archived';
    if (step.activity !== 'archived') step.activity = behaviour.retired(step.activity ?? row.activity_status);
  }
  if (step.activity === 'archived' || step.activity === 'removing') step.target = 'archived';
  if (step.activity === 'deployed' || step.activity === 'removing' || step.activity === 'archived') {
    if (report.deployed_at !== undefined) step.deployedAt = report.deployed_at;
    if (report.archived_at !== undefined) step.archivedAt = report.archived_at;
  }
  return step;
}

/** A deployment that is being removed is no target any more. */
function releaseTarget(core: Core, row: DeploymentRow): void {
  const device = core.store.collections.device.byId(row.device_id);
  if (device?.target_deployment_id !== row.id) return;
  core.store.collections.device.update(device, { target_deployment_id: null });
}
