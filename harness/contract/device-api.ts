/**
 * Shapes of the Device API: deployment, events and discovery file (sections 2.1 to 2.4, 5 and 6.3 of the
 * specification).
 */

import type { Static } from 'typebox';
import {
  DEPLOYMENT_ACTIVITY_STATUSES,
  DEPLOYMENT_ERROR_STATUSES,
  DEPLOYMENT_STATUSES,
  DEPLOYMENT_TARGET_STATUSES,
} from './enums.ts';
import { objectShape, oneOf, Timestamp, Type } from './shape.ts';

export const statusFields = {
  status: oneOf(DEPLOYMENT_STATUSES, 'Merge of activity and error status'),
  activity_status: oneOf(DEPLOYMENT_ACTIVITY_STATUSES, 'Last known activity state'),
  error_status: oneOf(DEPLOYMENT_ERROR_STATUSES, 'Last known error state'),
  target_status: oneOf(DEPLOYMENT_TARGET_STATUSES, 'Desired state'),
};

export const deploymentFields = {
  object: Type.Literal('deployment'),
  id: Type.String({ pattern: '^dpl_', description: 'Deployment identifier' }),
  description: Type.String(),
  ...statusFields,
  device_id: Type.String({ pattern: '^dvc_', description: 'Device identifier' }),
  release_id: Type.String({ pattern: '^rls_', description: 'Release identifier' }),
  created_at: Timestamp,
};

export const deployment = objectShape('Deployment', deploymentFields);
export type Deployment = Static<typeof deployment.schema>;

/** `{resource}.{action}` (section 6.1 of the specification). */
export const EVENT_TYPE_FORM = '^[^.\\s]+\\.[^.\\s]+$';

/** JSON in the `data` field of a frame (section 2.3 of the specification). */
export const eventEnvelope = objectShape('Event', {
  object: Type.Literal('event'),
  id: Type.Integer({ description: 'Equals the SSE id; monotonically increasing' }),
  type: Type.String({ pattern: EVENT_TYPE_FORM, description: 'Equals the SSE event field' }),
  occurred_at: Timestamp,
  data: Type.Object({}, { description: 'Payload; its shape depends on type' }),
});
export type EventEnvelope = Static<typeof eventEnvelope.schema>;

const payloadFields = { deployment_id: Type.String(), release_id: Type.String(), ...statusFields };

export const deployedPayload = objectShape('DeploymentDeployed', { ...payloadFields, deployed_at: Timestamp });
export type DeployedPayload = Static<typeof deployedPayload.schema>;

/** Payload of `deployment.removed` from published agents; the specification shows no such payload. */
export const removedPayload = objectShape('DeploymentRemoved', { ...payloadFields, archived_at: Timestamp });
export type RemovedPayload = Static<typeof removedPayload.schema>;

export const discoveryFile = objectShape('DiscoveryFile', {
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  token: Type.String({ minLength: 1 }),
});
export type DiscoveryFile = Static<typeof discoveryFile.schema>;
