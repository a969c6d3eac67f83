import type { DeviceDefect } from './types.ts';

export const heartbeatLate: DeviceDefect = {
  name: 'heartbeat-late',
  side: 'device',
  summary: 'Takes the seconds between heartbeats for minutes.',
  breaks: ['device.events.heartbeat'],
  behaviour: (right) => ({ ...right, stream: { ...right.stream, heartbeatMs: (configured) => configured * 60 } }),
};
