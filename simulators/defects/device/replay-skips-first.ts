import type { DeviceDefect } from './types.ts';

export const replaySkipsFirst: DeviceDefect = {
  name: 'replay-skips-first',
  side: 'device',
  summary: 'Begins a replay one event too late.',
  breaks: ['device.events.replay.complete', 'device.events.replay.exclusive'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      resolveCursor: (cursor, retained) => {
        const after = right.stream.resolveCursor(cursor, retained);
        return typeof cursor === 'number' && typeof after === 'number' ? Math.min(after + 1, retained.latest) : after;
      },
    },
  }),
};
