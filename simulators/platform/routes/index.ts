import type { Handlers } from '../http/call.ts';
import { configInstanceHandlers } from './config-instances.ts';
import { configSchemaHandlers } from './config-schemas.ts';
import { configTypeHandlers } from './config-types.ts';
import { deploymentHandlers } from './deployments.ts';
import { deviceHandlers } from './devices.ts';
import { gitCommitHandlers } from './git-commits.ts';
import { groupHandlers } from './groups.ts';
import { principalHandlers } from './principal.ts';
import { provisioningTokenHandlers } from './provisioning-tokens.ts';
import { releaseHandlers } from './releases.ts';

/** The handler of each published operation. */
export const HANDLERS: Handlers = {
  ...configTypeHandlers,
  ...configSchemaHandlers,
  ...configInstanceHandlers,
  ...releaseHandlers,
  ...deploymentHandlers,
  ...deviceHandlers,
  ...groupHandlers,
  ...gitCommitHandlers,
  ...provisioningTokenHandlers,
  ...principalHandlers,
};
