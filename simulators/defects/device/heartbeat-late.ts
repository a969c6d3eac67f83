import type { DeviceDefect } from './types.ts';

export const heartbeatLate: DeviceDefect = {
  name: 'heartbeat-late',
  side: 'device',
  summary: 'Sends heartbeats three times as seldom as declared.',
  breaks: ['device.events.heartbeat'],
  behaviour: (right) => ({ ...right, stream: { ...right.stream, heartbeatMs: (configured) => configured * 3 } }),
};
