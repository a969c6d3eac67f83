import type { DeviceDefect } from './types.ts';

export const typesNeedACursor: DeviceDefect = {
  name: 'types-need-a-cursor',
  side: 'device',
  summary: 'Ignores the filter of whoever comes without a cursor.',
  breaks: ['device.events.types'],
  behaviour: (right) => {
    let cursor: unknown;
    return {
      ...right,
      stream: {
        ...right.stream,
        chooseCursor: (request) => {
          const chosen = right.stream.chooseCursor(request);
          cursor = chosen;
          return chosen;
        },
        parseTypes: (values) => (cursor === 'none' ? undefined : right.stream.parseTypes(values)),
      },
    };
  },
};
