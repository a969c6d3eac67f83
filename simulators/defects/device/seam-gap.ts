import type { DeviceDefect } from './types.ts';

export const seamGap: DeviceDefect = {
  name: 'seam-gap',
  side: 'device',
  summary: 'Loses what is published between the end of a replay and the first live event.',
  breaks: ['device.events.replay.seam'],
  behaviour: (right) => ({ ...right, stream: { ...right.stream, join: (enter) => void setTimeout(enter, 40) } }),
};
