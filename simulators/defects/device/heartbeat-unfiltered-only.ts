import type { DeviceDefect } from './types.ts';

export const heartbeatUnfilteredOnly: DeviceDefect = {
  name: 'heartbeat-unfiltered-only',
  side: 'device',
  summary: 'Sends heartbeats only to whoever has set no filter.',
  breaks: ['device.events.heartbeat'],
  behaviour: (right) => {
    let filtered = false;
    return {
      ...right,
      stream: {
        ...right.stream,
        parseTypes: (values) => {
          filtered = values.length > 0;
          return right.stream.parseTypes(values);
        },
        heartbeatMs: (configured) => (filtered ? configured * 100 : configured),
      },
    };
  },
};
