/** What the files of this suite share: how a check is declared, and the type of what it is given. */
import { checks } from '../../../harness/runner/define.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';
import type { PlatformContext } from '../../../harness/targets/contexts.ts';
import { settled } from './quiet.ts';
import { bounded } from './shrinking.ts';

export type Platform = PlatformContext & CheckContext;

const declare = checks<PlatformContext>();
type Declare = typeof declare;

export const check: Declare = (holds, options, run) =>
  declare(holds, options, async (t) => {
    await run({ ...t, property: bounded(t.property) });
    settled(t);
  });
