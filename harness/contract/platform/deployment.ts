/** Deployments on the Platform API in each version (sections 2.1, 2.2 and 9 of the specification). */
import type { Static, TObject } from 'typebox';
import { deploymentFields } from '../device-api.ts';
import {
  DEPLOYMENT_ACTIVITY_STATUSES,
  DEPLOYMENT_ERROR_STATUSES,
  DEPLOYMENT_STATUSES,
  DEPLOYMENT_TARGET_STATUSES,
} from '../enums.ts';
import { exact, nullable, oneOf, Timestamp, Type } from '../shape.ts';
import { atLeast, type SupportedVersion } from '../versions.ts';
import { fieldsIn, type Operation, operationsOn, resource } from './operation.ts';

/** `removing` came with rainier (section 9 of the specification). */
const statusesIn = (version: SupportedVersion, statuses: readonly string[]): readonly string[] =>
  atLeast(version, 'rainier') ? statuses : statuses.filter((status) => status !== 'removing');

const fields = {
  ...deploymentFields,
  parent_id: nullable(Type.String(), 'The current target deployment of the device when this one was created'),
  queued_at: nullable(Timestamp),
  deployed_at: nullable(Timestamp),
  archived_at: nullable(Timestamp),
  updated_at: Timestamp,
};
export type PlatformDeployment = Static<TObject<typeof fields>>;

export const deploymentResource = resource('deployment', 'dpl_', {
  fields: (version) => ({
    ...fieldsIn(version, fields, {
      parent_id: 'everglades',
      queued_at: 'everglades',
      deployed_at: 'everglades',
      archived_at: 'everglades',
    }),
    ...(!atLeast(version, 'everglades') && {
      status: oneOf(statusesIn(version, DEPLOYMENT_STATUSES)),
      activity_status: oneOf(statusesIn(version, DEPLOYMENT_ACTIVITY_STATUSES)),
    }),
  }),
  expansions: {
    device: { kind: 'device' },
    release: { kind: 'release' },
    parent: { kind: 'deployment', nullable: true, since: 'everglades' },
    config_instances: { kind: 'config_instance', many: true },
  },
  filters: {
    id: {},
    target_status: { values: () => DEPLOYMENT_TARGET_STATUSES },
    activity_status: { values: (version) => statusesIn(version, DEPLOYMENT_ACTIVITY_STATUSES) },
    error_status: { values: () => DEPLOYMENT_ERROR_STATUSES },
    device_id: {},
    release_id: {},
  },
});

const createBody = (version: SupportedVersion) =>
  exact({
    target_status: oneOf(['staged', 'deployed'] as const),
    description: Type.String({ maxLength: 4096 }),
    release_id: Type.String(),
    device_id: Type.String(),
    config_instance_ids: Type.Array(Type.String(), { maxItems: 1000 }),
    // Deployment id that the client expects as the device's current target; `null` expects no target, and an omitted
    // member expects nothing.
    parent_id: Type.Optional(atLeast(version, 'everglades') ? nullable(Type.String()) : Type.String()),
  });
export type CreateDeployment = Static<ReturnType<typeof createBody>>;

const on = operationsOn(deploymentResource, 'Deployments');
const act = (scope: string) => ({ method: 'POST', scopes: [scope], kind: 'deployment' }) as const;
export const deploymentOperations: Operation[] = [
  on.list('listDeployments', 'List deployments'),
  // Needs `deployments:stage` or `deployments:deploy` as well, depending on `target_status`.
  on.create('createDeployment', 'Stage or deploy a new deployment', createBody),
  on.get('getDeployment', 'Get a deployment'),
  on.below('deployDeployment', 'deploy', 'Deploy a staged deployment', act('deployments:deploy')),
  on.below('archiveDeployment', 'archive', 'Archive a staged or drifted deployment', act('deployments:archive')),
  on.below('getDeploymentDrifts', 'drifts', 'List what was deployed since this deployment was staged', {
    method: 'GET',
    scopes: ['deployments:read'],
    kind: 'deployment',
    list: true,
    sub: true,
  }),
];
