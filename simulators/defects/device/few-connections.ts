import type { DeviceDefect } from './types.ts';

export const fewConnections: DeviceDefect = {
  name: 'few-connections',
  side: 'device',
  summary: 'Takes twelve connections at once, so that a few clients that say nothing shut out all others.',
  breaks: ['device.robust.requests.unfinished'],
  behaviour: (right) => ({ ...right, transport: { ...right.transport, accepts: (open) => open < 12 } }),
};
