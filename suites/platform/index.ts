import { suite } from '../../harness/runner/define.ts';
import type { Suite } from '../../harness/runner/types.ts';
import type { PlatformContext } from '../../harness/targets/opened.ts';
import { checks as ping } from './2.5-ping.ts';
import { checks as deployments } from './2-deployments.ts';
import { checks as keysAndVersions } from './5-keys-and-versions.ts';
import { checks as lists } from './8-lists.ts';
import { checks as resources } from './9-resources.ts';
import { checks as robustness, routes } from './robustness.ts';

/** Plainest checks first, because a report leads with the first finding. */
const sections = [lists, keysAndVersions, routes.checks, deployments, ping, resources, robustness];
export const platformSuite: Suite<PlatformContext> = suite('platform', sections);
