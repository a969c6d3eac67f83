import { suite } from '../../harness/runner/define.ts';
import type { Suite } from '../../harness/runner/types.ts';
import type { SystemContext } from '../../harness/targets/opened.ts';
import { checks as soak } from './3-soak.ts';
import { checks as rollOuts } from './roll-outs.ts';

export const systemSuite: Suite<SystemContext> = suite('system', [rollOuts, soak]);
