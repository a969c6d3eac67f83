import type { DeviceDefect } from './types.ts';

export const slowReaderThinnedOut: DeviceDefect = {
  name: 'slow-reader-thinned-out',
  side: 'device',
  summary: 'Leaves out every other batch for a subscriber that does not read fast enough.',
  breaks: ['device.events.slow-reader'],
  behaviour: (right) => {
    const skipped = new WeakSet<object>();
    return {
      ...right,
      stream: {
        ...right.stream,
        liveBufferBytes: Number.MAX_SAFE_INTEGER,
        fanOut: (live, send) => {
          for (const subscriber of live) {
            const skip = subscriber.waiting > 0 && !skipped.delete(subscriber);
            if (skip) skipped.add(subscriber);
            else send(subscriber);
          }
        },
      },
    };
  },
};
