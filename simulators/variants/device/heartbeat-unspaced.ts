import type { DeviceVariant } from './types.ts';

export const heartbeatUnspaced: DeviceVariant = {
  name: 'heartbeat-unspaced',
  side: 'device',
  summary:
    'Writes the heartbeat without the space, and without an empty line after it; both are comments all the same.',
  behaviour: (right) => ({ ...right, stream: { ...right.stream, heartbeat: () => ':heartbeat\n' } }),
};
