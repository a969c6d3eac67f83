import { Type } from '../shape.ts';
import type { SupportedVersion } from '../versions.ts';
import { configInstanceOperations, configInstanceResource } from './config-instance.ts';
import { configSchemaOperations, configSchemaResource } from './config-schema.ts';
import { configTypeOperations, configTypeResource } from './config-type.ts';
import { deploymentOperations, deploymentResource } from './deployment.ts';
import { deviceOperations, deviceResource, tokenAnswer } from './device.ts';
import { gitCommitOperations, gitCommitResource } from './git-commit.ts';
import { groupOperations, groupResource } from './group.ts';
import { inVersion, type Operation, type Resource, type ResourceKind } from './operation.ts';
import { releaseOperations, releaseResource } from './release.ts';

export const RESOURCES: Record<ResourceKind, Resource> = {
  config_type: configTypeResource,
  config_schema: configSchemaResource,
  config_instance: configInstanceResource,
  release: releaseResource,
  deployment: deploymentResource,
  device: deviceResource,
  group: groupResource,
  git_commit: gitCommitResource,
};

const principal = Type.Object({ object: Type.Literal('principal'), id: Type.String(), name: Type.String() });

export const OPERATIONS: readonly Operation[] = [
  ...configTypeOperations,
  ...configSchemaOperations,
  ...configInstanceOperations,
  ...releaseOperations,
  ...deploymentOperations,
  ...deviceOperations,
  ...groupOperations,
  ...gitCommitOperations,
  // Provisioning tokens for devices, and the owner of an API key (section 9 of the specification).
  {
    id: 'createProvisioningToken',
    method: 'POST',
    path: '/provisioning_tokens',
    summary: 'Issue a token with which devices provision themselves',
    tag: 'Provisioning Tokens',
    since: 'rainier',
    scopes: ['provisioning_tokens:write'],
    answer: { name: 'ProvisioningToken', schema: tokenAnswer },
  },
  {
    id: 'getSelf',
    method: 'GET',
    path: '/principal',
    summary: 'Who the key belongs to',
    tag: 'Principal',
    scopes: [],
    answer: { name: 'Principal', schema: principal },
  },
];

export const operationsOf = (version: SupportedVersion): Operation[] =>
  OPERATIONS.filter((operation) => inVersion(operation, version));
