import type { DeviceDefect } from './types.ts';

export const frameIdPrefixed: DeviceDefect = {
  name: 'frame-id-prefixed',
  side: 'device',
  summary: 'Sends ids as evt_5 in place of 5.',
  breaks: ['device.events.frame'],
  behaviour: (right) => ({
    ...right,
    stream: { ...right.stream, frame: (event) => right.stream.frame(event).replace(/^id: /, 'id: evt_') },
  }),
};
