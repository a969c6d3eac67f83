/** Deployments and their events as they go over the wire (specification sections 2.1 and 2.4). */
import type { Deployment } from '../../../harness/contract/deployment.ts';
import type { DeployedPayload, RemovedPayload } from '../../../harness/contract/events.ts';
import type { DeploymentBehaviour } from '../behaviour.ts';
import type { EventDraft } from '../log/line.ts';
import type { DeploymentRecord } from './stored-state.ts';

export function deploymentOf(record: DeploymentRecord, { mergeStatus }: DeploymentBehaviour): Deployment {
  return {
    object: 'deployment',
    id: record.id,
    description: record.description,
    status: mergeStatus(record.activity_status, record.error_status),
    activity_status: record.activity_status,
    error_status: record.error_status,
    target_status: record.target_status,
    device_id: record.device_id,
    release_id: record.release_id,
    created_at: record.created_at,
  };
}

function common({ id, release_id, status, activity_status, error_status, target_status }: Deployment) {
  return { deployment_id: id, release_id, status, activity_status, error_status, target_status };
}

export const deployedEvent = (deployment: Deployment, deployed_at: string): EventDraft => ({
  type: 'deployment.deployed',
  data: { ...common(deployment), deployed_at } satisfies DeployedPayload,
});

export const removedEvent = (deployment: Deployment, archived_at: string): EventDraft => ({
  type: 'deployment.removed',
  data: { ...common(deployment), archived_at } satisfies RemovedPayload,
});
