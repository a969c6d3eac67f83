import type { DeviceDefect } from './types.ts';

export const zeroLosesToHeader: DeviceDefect = {
  name: 'zero-loses-to-header',
  side: 'device',
  summary: 'Takes after=0 for none when there is a header.',
  breaks: ['device.events.after-wins'],
  behaviour: (right) => ({
    ...right,
    // Once events are gone, after=0 is refused anyway.
    log: { ...right.log, keepFrom: ({ earliest }) => earliest },
    stream: {
      ...right.stream,
      chooseCursor: ({ after, lastEventId }) =>
        right.stream.chooseCursor({
          after: lastEventId === undefined ? after : after.filter((id) => id !== '0'),
          lastEventId,
        }),
    },
  }),
};
