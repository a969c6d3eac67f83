import type { PlatformVariant } from './types.ts';

export const pingAtLeastASecond: PlatformVariant = {
  name: 'ping-at-least-a-second',
  side: 'platform',
  summary: 'Waits for a device for a second at least.',
  behaviour: (right) => ({
    ...right,
    ping: (link, deviceId, timeoutNanos) => right.ping(link, deviceId, Math.max(timeoutNanos, 1_000_000_000)),
  }),
};
