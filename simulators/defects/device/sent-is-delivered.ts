import type { StoredEvent } from '../../device/log/line.ts';
import type { DeviceDefect } from './types.ts';

export const sentIsDelivered: DeviceDefect = {
  name: 'sent-is-delivered',
  side: 'device',
  summary: 'Takes what it has sent for delivered: what was on its way when a connection broke is not sent again.',
  breaks: ['device.events.at-least-once', 'device.events.replay.complete'],
  behaviour: (right) => {
    let sent = 0;
    const remember = (events: readonly StoredEvent[]): readonly StoredEvent[] => {
      sent = Math.max(sent, events.at(-1)?.id ?? 0);
      return events;
    };
    return {
      ...right,
      stream: {
        ...right.stream,
        session: () => ({
          replay: (events) => remember(events.filter(({ id }) => id > sent)),
          live: remember,
        }),
      },
    };
  },
};
