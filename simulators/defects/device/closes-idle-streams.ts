import type { DeviceDefect } from './types.ts';

export const closesIdleStreams: DeviceDefect = {
  name: 'closes-idle-streams',
  side: 'device',
  summary: 'Ends a stream a little after its first heartbeat.',
  breaks: ['device.events.long-lived'],
  behaviour: (right) => ({ ...right, stream: { ...right.stream, lifetimeMs: (heartbeatMs) => heartbeatMs * 1.3 } }),
};
