/**
 * Statuses of a deployment (section 2.2 of the specification) as arrays, unions and guards. Imports no schema library,
 * which takes 100 ms to load.
 */

export function guardOf<const V extends readonly string[]>(values: V): (value: unknown) => value is V[number] {
  const known = new Set<unknown>(values);
  return (value): value is V[number] => known.has(value);
}

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

export const DEPLOYMENT_STATUSES = [...DEPLOYMENT_ACTIVITY_STATUSES, 'failed', 'retrying'] as const;
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];

/** Event types in section 6.3 of the specification; an API version may have further event types. */
export const EVENT_TYPES = ['deployment.deployed', 'deployment.removed'] as const;
export type EventType = (typeof EVENT_TYPES)[number];
export const isEventType = guardOf(EVENT_TYPES);
