/** Deployments, their events (specification sections 2.1 and 2.4) and releases, as a device shows them. */
import type { AgentGitCommit, AgentRelease } from '../../../harness/contract/agent.ts';
import type { Deployment } from '../../../harness/contract/deployment.ts';
import type { DeployedPayload, RemovedPayload } from '../../../harness/contract/events.ts';
import { type Clock, timestamp } from '../../common/clock.ts';
import type { DeploymentBehaviour } from '../behaviour.ts';
import type { EventDraft } from '../log/line.ts';
import type { DeploymentRecord } from './stored-state.ts';

/** The deployment of a record. */
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

/** The event of a deployment that was deployed at that time. */
export const deployedEvent = (deployment: Deployment, deployed_at: string): EventDraft => ({
  type: 'deployment.deployed',
  data: { ...common(deployment), deployed_at } satisfies DeployedPayload,
});

/** The event of a deployment that was removed at that time. */
export const removedEvent = (deployment: Deployment, archived_at: string): EventDraft => ({
  type: 'deployment.removed',
  data: { ...common(deployment), archived_at } satisfies RemovedPayload,
});

/** A release with the fields that a device shows; a platform sends more. */
export function releaseOf({ object, id, version, git_commit_id, created_at, git_commit }: AgentRelease): AgentRelease {
  const release = { object, id, version, git_commit_id, created_at };
  return git_commit == null ? release : { ...release, git_commit: gitCommitOf(git_commit) };
}

function gitCommitOf({ object, id, sha, message, commit_url, created_at }: AgentGitCommit): AgentGitCommit {
  return { object, id, sha, message, commit_url, created_at };
}

/**
 * `count` events, which suites and load ask for by number, for a log whose newest id is `latest`. Each pair deploys and removes
 * one deployment; the current one stays.
 */
export function fillerEvents(latest: number, count: number, clock: Clock): EventDraft[] {
  const now = timestamp(clock);
  return Array.from({ length: count }, (_, at) => {
    const pair = latest + at - (at % 2);
    const removed = at % 2 === 1;
    const activity = removed ? 'archived' : 'deployed';
    const deployment = {
      object: 'deployment',
      id: `dpl_filler${pair}`,
      description: '',
      status: activity,
      activity_status: activity,
      error_status: 'none',
      target_status: activity,
      device_id: '',
      release_id: `rls_filler${pair}`,
      created_at: now,
    } as const;
    return removed ? removedEvent(deployment, now) : deployedEvent(deployment, now);
  });
}
