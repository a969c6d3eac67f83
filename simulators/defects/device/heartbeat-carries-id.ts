import type { DeviceDefect } from './types.ts';

export const heartbeatCarriesId: DeviceDefect = {
  name: 'heartbeat-carries-id',
  side: 'device',
  summary: 'Sends an id with each heartbeat, which moves the cursor of a client.',
  breaks: ['device.events.heartbeat.inert'],
  behaviour: (right) => ({
    ...right,
    stream: { ...right.stream, heartbeat: ({ latest }) => `id: ${latest + 1}\n: heartbeat\n\n` },
  }),
};
