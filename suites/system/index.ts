/** System suite: checks that need a platform and a device together. */
import { suite } from '../../harness/runner/define.ts';
import type { Suite } from '../../harness/runner/types.ts';
import type { SystemContext } from '../../harness/targets/opened.ts';
import { checks as failed } from './2.2-failed.ts';
import { checks as offline } from './2.2-offline.ts';
import { checks as soak } from './3-soak.ts';
import { checks as ping } from './4.2-ping.ts';
import { checks as deploy } from './6.3-deploy.ts';

export const systemSuite: Suite<SystemContext> = suite('system', [ping, deploy, failed, offline, soak]);
