import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../../harness/contract/lists.ts';
import type { PlatformVariant } from './types.ts';

export const pingLongClamped: PlatformVariant = {
  name: 'ping-long-clamped',
  side: 'platform',
  summary: 'Clamps a ping of more than 10 seconds instead of refusing it.',
  behaviour: (right) => ({
    ...right,
    pingTimeout: (asked) => (asked > 0 ? Math.min(asked, PING_TIMEOUT_MAXIMUM_NANOS) : 'refuse'),
  }),
};
