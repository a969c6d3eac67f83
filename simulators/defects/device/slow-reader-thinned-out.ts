import type { DeviceDefect } from './types.ts';

export const slowReaderThinnedOut: DeviceDefect = {
  name: 'slow-reader-thinned-out',
  side: 'device',
  summary: 'Leaves out every other batch for a subscriber that does not read fast enough.',
  breaks: ['device.events.slow-reader.complete'],
  behaviour: (right) => {
    const skipped = new WeakSet<object>();
    return {
      ...right,
      stream: {
        ...right.stream,
        liveBufferBytes: Number.MAX_SAFE_INTEGER,
        recipients: (live) =>
          [...live].filter((subscriber) => {
            if (subscriber.waiting === 0 || skipped.delete(subscriber)) return true;
            skipped.add(subscriber);
            return false;
          }),
      },
    };
  },
};
