import type { DeviceDefect } from './types.ts';

export const typesSwallowReplay: DeviceDefect = {
  name: 'types-swallow-replay',
  side: 'device',
  summary: 'Ends a filtered replay at the first event that is not wanted.',
  breaks: ['device.events.types'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      session: ({ filter }) => {
        let ended = false;
        return {
          replay: (events) =>
            events.filter(({ type }) => {
              ended ||= filter !== undefined && !filter.has(type);
              return !ended;
            }),
        };
      },
    },
  }),
};
