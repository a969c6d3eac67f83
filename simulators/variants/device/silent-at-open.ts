import type { DeviceVariant } from './types.ts';

export const silentAtOpen: DeviceVariant = {
  name: 'silent-at-open',
  side: 'device',
  summary: 'Sends no heartbeat when a stream opens.',
  behaviour: (right) => ({ ...right, stream: { ...right.stream, heartbeatAtOpen: false } }),
};
