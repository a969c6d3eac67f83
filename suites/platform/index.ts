/** Registers the sections of the platform suite. */
import { suite } from '../../harness/runner/define.ts';
import type { Suite } from '../../harness/runner/types.ts';
import type { PlatformContext } from '../../harness/targets/opened.ts';
import { checks as deployments } from './2.1-deployments.ts';
import { checks as ping } from './2.5-ping.ts';
import { checks as createdItems } from './2.6-created-items.ts';
import { checks as listEnvelope } from './2.6-list-envelope.ts';
import { checks as resources } from './2-resources.ts';
import { checks as lifecycle } from './3-lifecycle.ts';
import { checks as pingRefusals } from './4.2-ping-refusals.ts';
import { checks as authentication } from './5-authentication.ts';
import { checks as lists } from './8-lists.ts';
import { checks as configInstances } from './9-config-instances.ts';
import { checks as configSchemas } from './9-config-schemas.ts';
import { checks as configTypes } from './9-config-types.ts';
import { checks as deploymentTimestamps } from './9-deployment-timestamps.ts';
import { checks as devices } from './9-devices.ts';
import { checks as groups } from './9-groups.ts';
import { checks as parent } from './9-parent.ts';
import { checks as provisioningTokens } from './9-provisioning-tokens.ts';
import { checks as versions } from './9-versions.ts';
import { checks as fields } from './fields.ts';
import { checks as robustness, routes } from './robustness.ts';

/** Starts with the plainest checks, because a report leads with the first finding. */
export const platformSuite: Suite<PlatformContext> = suite('platform', [
  listEnvelope,
  lists,
  versions,
  authentication,
  routes.checks,
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
  robustness,
  fields,
  resources,
]);
