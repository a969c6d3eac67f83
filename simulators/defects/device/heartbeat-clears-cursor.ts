import type { DeviceDefect } from './types.ts';

export const heartbeatClearsCursor: DeviceDefect = {
  name: 'heartbeat-clears-cursor',
  side: 'device',
  summary: 'Sends an empty id with each heartbeat, which clears the cursor of a client.',
  breaks: ['device.events.heartbeat.inert'],
  behaviour: (right) => ({ ...right, stream: { ...right.stream, heartbeat: () => ': heartbeat\nid:\n\n' } }),
};
