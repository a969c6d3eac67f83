import type { DeviceDefect } from './types.ts';

export const nonAsciiLost: DeviceDefect = {
  name: 'non-ascii-lost',
  side: 'device',
  summary: 'Writes a question mark for everything beyond ASCII.',
  breaks: ['device.events.framing-safe'],
  behaviour: (right) => ({
    ...right,
    stream: { ...right.stream, frame: (event) => right.stream.frame(event).replace(/[^\x20-\x7e\n]/gu, '?') },
  }),
};
