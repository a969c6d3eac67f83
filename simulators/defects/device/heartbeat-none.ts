import type { DeviceDefect } from './types.ts';

export const heartbeatNone: DeviceDefect = {
  name: 'heartbeat-none',
  side: 'device',
  summary: 'Sends no heartbeat.',
  breaks: ['device.events.heartbeat'],
  behaviour: (right) => ({ ...right, stream: { ...right.stream, heartbeat: () => '' } }),
};
