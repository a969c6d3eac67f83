import type { DeviceDefect } from './types.ts';

export const hugeCursorWraps: DeviceDefect = {
  name: 'huge-cursor-wraps',
  side: 'device',
  summary: 'Lets cursors wrap around at 64 bits.',
  breaks: ['device.events.cursor.malformed'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      chooseCursor: (request) => {
        const text = request.after[0] ?? request.lastEventId ?? '';
        return /^\d+$/.test(text) ? Number(BigInt.asIntN(64, BigInt(text))) : right.stream.chooseCursor(request);
      },
    },
  }),
};
