import type { DeviceDefect } from './types.ts';

export const idsSharedByTwo: DeviceDefect = {
  name: 'ids-shared-by-two',
  side: 'device',
  summary: 'Gives every two events one id, as a clock does that is too coarse.',
  breaks: ['device.events.monotonic'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) => {
        const id = event.id + (event.id % 2);
        return right.stream.frame({ ...event, id, json: event.json.replace(`"id":${event.id}`, `"id":${id}`) });
      },
    },
  }),
};
