import type { DeviceDefect } from './types.ts';

export const frameWithoutId: DeviceDefect = {
  name: 'frame-without-id',
  side: 'device',
  summary: 'Sends frames without an id.',
  breaks: ['device.events.frame'],
  behaviour: (right) => ({
    ...right,
    stream: { ...right.stream, frame: (event) => right.stream.frame(event).replace(/^id: .*\n/, '') },
  }),
};
