/** The enumerations of a deployment (specification section 2.2), one declaration each: const array, union, guard. */
import { guardOf } from './guard.ts';

export const DEPLOYMENT_ACTIVITY_STATUSES = [
  'drifted',
  'staged',
  'queued',
  'deployed',
  'removing',
  'archived',
] as const;
export type DeploymentActivityStatus = (typeof DEPLOYMENT_ACTIVITY_STATUSES)[number];
export const isDeploymentActivityStatus = guardOf(DEPLOYMENT_ACTIVITY_STATUSES);

export const DEPLOYMENT_ERROR_STATUSES = ['none', 'failed', 'retrying'] as const;
export type DeploymentErrorStatus = (typeof DEPLOYMENT_ERROR_STATUSES)[number];
export const isDeploymentErrorStatus = guardOf(DEPLOYMENT_ERROR_STATUSES);

export const DEPLOYMENT_TARGET_STATUSES = ['staged', 'deployed', 'archived'] as const;
export type DeploymentTargetStatus = (typeof DEPLOYMENT_TARGET_STATUSES)[number];
export const isDeploymentTargetStatus = guardOf(DEPLOYMENT_TARGET_STATUSES);

export const DEPLOYMENT_STATUSES = [...DEPLOYMENT_ACTIVITY_STATUSES, 'failed', 'retrying'] as const;
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];
export const isDeploymentStatus = guardOf(DEPLOYMENT_STATUSES);

/** Event types that the specification names (section 6.3). The full list for a version is not shown. */
export const EVENT_TYPES = ['deployment.deployed', 'deployment.removed'] as const;
export type EventType = (typeof EVENT_TYPES)[number];
export const isEventType = guardOf(EVENT_TYPES);
