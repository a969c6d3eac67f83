/** What the files of this suite share: how a check is declared, and the type of what it is given. */
import { checks } from '../../../harness/check/define.ts';
import type { CheckContext } from '../../../harness/check/types.ts';
import type { PlatformContext } from '../../../harness/target/device.ts';

export type Platform = PlatformContext & CheckContext;

export const check = checks<PlatformContext>();
