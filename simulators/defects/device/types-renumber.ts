import type { StoredEvent } from '../../device/log/line.ts';
import { rewritten } from './envelope.ts';
import type { DeviceDefect } from './types.ts';

export const typesRenumber: DeviceDefect = {
  name: 'types-renumber',
  side: 'device',
  summary: 'Numbers filtered events anew, without gaps.',
  breaks: ['device.events.types'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      session: ({ after, filter }) => {
        if (!filter) return undefined;
        let id = after;
        const renumbered = (events: readonly StoredEvent[]) =>
          events
            .filter(({ type }) => filter.has(type))
            .map((event) => {
              id += 1;
              return { ...rewritten(event, (envelope) => ({ ...envelope, id })), id };
            });
        return { replay: renumbered, live: renumbered };
      },
    },
  }),
};
