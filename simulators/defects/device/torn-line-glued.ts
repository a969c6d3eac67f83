import type { DeviceDefect } from './types.ts';

export const tornLineGlued: DeviceDefect = {
  name: 'torn-line-glued',
  side: 'device',
  summary: 'Writes the next event behind a torn line, on the same line.',
  breaks: ['device.log.torn-tail'],
  behaviour: (right) => ({ ...right, log: { ...right.log, opening: () => 'keep' } }),
};
