import type { DeviceDefect } from './types.ts';

export const heartbeatAsEvent: DeviceDefect = {
  name: 'heartbeat-as-event',
  side: 'device',
  summary: 'Sends heartbeats as events.',
  breaks: ['device.events.heartbeat.inert', 'device.events.heartbeat'],
  behaviour: (right) => ({ ...right, stream: { ...right.stream, heartbeat: () => 'event: heartbeat\ndata: {}\n\n' } }),
};
