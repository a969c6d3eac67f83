/** The platform suite: the checks of every file of this folder. */
import { suite } from '../../harness/runner/define.ts';
import type { Suite } from '../../harness/runner/types.ts';
import type { PlatformContext } from '../../harness/targets/opened.ts';
import deployments from './2.1-deployments.ts';
import ping from './2.5-ping.ts';
import createdItems from './2.6-created-items.ts';
import listEnvelope from './2.6-list-envelope.ts';
import lifecycle from './3-lifecycle.ts';
import pingRefusals from './4.2-ping-refusals.ts';
import authentication from './5-authentication.ts';
import clamping from './8-clamping.ts';
import clampingExtremes from './8-clamping-extremes.ts';
import paging from './8-paging.ts';
import totalCount from './8-total-count.ts';
import walking from './8-walking.ts';
import configInstances from './9-config-instances.ts';
import configSchemas from './9-config-schemas.ts';
import configTypes from './9-config-types.ts';
import deploymentTimestamps from './9-deployment-timestamps.ts';
import devices from './9-devices.ts';
import groups from './9-groups.ts';
import parent from './9-parent.ts';
import provisioningTokens from './9-provisioning-tokens.ts';
import versions from './9-versions.ts';
import robustnessBodies from './robustness-bodies.ts';
import robustnessNames from './robustness-names.ts';
import robustnessReferences from './robustness-references.ts';
import robustnessRoutes from './robustness-routes.ts';

/**
 * Every check of the Platform API, the plainest first, because a report leads with the first of several findings.
 * `suite` refuses two checks with one id.
 */
export const platformSuite: Suite<PlatformContext> = suite('platform', [
  listEnvelope,
  paging,
  clamping,
  walking,
  totalCount,
  clampingExtremes,
  versions,
  authentication,
  robustnessRoutes,
  createdItems,
  deployments,
  lifecycle,
  parent,
  deploymentTimestamps,
  ping,
  pingRefusals,
  configTypes,
  configSchemas,
  configInstances,
  devices,
  groups,
  provisioningTokens,
  robustnessBodies,
  robustnessReferences,
  robustnessNames,
]);
