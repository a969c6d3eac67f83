/** The Deployment of the Device API (specification section 2.1). */
import Type, { type Static } from 'typebox';
import {
  DEPLOYMENT_ACTIVITY_STATUSES,
  DEPLOYMENT_ERROR_STATUSES,
  DEPLOYMENT_STATUSES,
  DEPLOYMENT_TARGET_STATUSES,
} from './enums.ts';
import { oneOf, shape, Timestamp } from './shape.ts';

/** The four status fields that every deployment and deployment event carries. */
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

export const deployment = shape('Deployment', Type.Object(deploymentFields));
export type Deployment = Static<typeof deployment.schema>;
