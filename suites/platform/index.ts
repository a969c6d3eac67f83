/** Registers the platform suite; every file is a section of the specification. */
import { suite } from '../../harness/runner/define.ts';
import type { Suite } from '../../harness/runner/types.ts';
import type { PlatformContext } from '../../harness/targets/contexts.ts';
import { deploymentChecks } from './2.1-deployments.ts';
import { pingChecks } from './2.5-ping.ts';
import { listEnvelopeChecks } from './2.6-list-envelope.ts';
import { lifecycleChecks } from './3-lifecycle.ts';
import { authenticationChecks } from './5-authentication.ts';
import { clampingChecks } from './8-clamping.ts';
import { clampingExtremesChecks } from './8-clamping-extremes.ts';
import { pagingChecks } from './8-paging.ts';
import { totalCountChecks } from './8-total-count.ts';
import { walkingChecks } from './8-walking.ts';
import { configInstanceChecks } from './9-config-instances.ts';
import { configSchemaChecks } from './9-config-schemas.ts';
import { configTypeChecks } from './9-config-types.ts';
import { deploymentTimestampChecks } from './9-deployment-timestamps.ts';
import { deviceChecks } from './9-devices.ts';
import { groupChecks } from './9-groups.ts';
import { parentChecks } from './9-parent.ts';
import { provisioningTokenChecks } from './9-provisioning-tokens.ts';
import { versionChecks } from './9-versions.ts';
import { robustnessChecks } from './robustness.ts';

export const platformSuite: Suite<PlatformContext> = suite('platform', [
  deploymentChecks,
  pingChecks,
  listEnvelopeChecks,
  lifecycleChecks,
  authenticationChecks,
  clampingChecks,
  clampingExtremesChecks,
  pagingChecks,
  walkingChecks,
  totalCountChecks,
  versionChecks,
  parentChecks,
  deploymentTimestampChecks,
  configTypeChecks,
  configSchemaChecks,
  configInstanceChecks,
  deviceChecks,
  groupChecks,
  provisioningTokenChecks,
  robustnessChecks,
]);
