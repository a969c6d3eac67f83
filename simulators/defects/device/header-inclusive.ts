import type { DeviceDefect } from './types.ts';

export const headerInclusive: DeviceDefect = {
  name: 'header-inclusive',
  side: 'device',
  summary: 'Repeats the event that Last-Event-ID names.',
  breaks: ['device.events.header-cursor'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      chooseCursor: (request) => {
        const cursor = right.stream.chooseCursor(request);
        return typeof cursor === 'number' && request.after.length === 0 ? Math.max(0, cursor - 1) : cursor;
      },
    },
  }),
};
