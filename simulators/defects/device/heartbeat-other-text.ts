import type { DeviceDefect } from './types.ts';

export const heartbeatOtherText: DeviceDefect = {
  name: 'heartbeat-other-text',
  side: 'device',
  summary: 'Sends comments that say ping.',
  breaks: ['device.events.heartbeat'],
  behaviour: (right) => ({ ...right, stream: { ...right.stream, heartbeat: () => ': ping\n\n' } }),
};
