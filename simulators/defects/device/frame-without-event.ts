import type { DeviceDefect } from './types.ts';

export const frameWithoutEvent: DeviceDefect = {
  name: 'frame-without-event',
  side: 'device',
  summary: 'Sends frames without the event field.',
  breaks: ['device.events.frame'],
  behaviour: (right) => ({
    ...right,
    stream: { ...right.stream, frame: (event) => right.stream.frame(event).replace(/^event: .*\n/m, '') },
  }),
};
