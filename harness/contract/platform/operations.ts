import type { SupportedVersion } from '../versions.ts';
import { configInstanceOperations, configInstanceResource } from './config-instance.ts';
import { configSchemaOperations, configSchemaResource } from './config-schema.ts';
import { configTypeOperations, configTypeResource } from './config-type.ts';
import { deploymentOperations, deploymentResource } from './deployment.ts';
import { deviceOperations, deviceResource } from './device.ts';
import { gitCommitOperations, gitCommitResource } from './git-commit.ts';
import { groupOperations, groupResource } from './group.ts';
import { keyOperations } from './keys.ts';
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

export const OPERATIONS: readonly Operation[] = [
  ...configTypeOperations,
  ...configSchemaOperations,
  ...configInstanceOperations,
  ...releaseOperations,
  ...deploymentOperations,
  ...deviceOperations,
  ...groupOperations,
  ...gitCommitOperations,
  ...keyOperations,
];

export const operationsOf = (version: SupportedVersion): Operation[] =>
  OPERATIONS.filter((operation) => inVersion(operation, version));
