/** Registers the system suite: both sides of the service together. */
import { suite } from '../../harness/runner/define.ts';
import type { Suite } from '../../harness/runner/types.ts';
import type { SystemContext } from '../../harness/targets/contexts.ts';
import { failedChecks } from './2.2-failed.ts';
import { offlineChecks } from './2.2-offline.ts';
import { soakChecks } from './3-soak.ts';
import { pingChecks } from './4.2-ping.ts';
import { deployChecks } from './6.3-deploy.ts';

export const systemSuite: Suite<SystemContext> = suite('system', [
  failedChecks,
  offlineChecks,
  soakChecks,
  pingChecks,
  deployChecks,
]);
