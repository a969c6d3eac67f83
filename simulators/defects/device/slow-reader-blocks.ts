import type { DeviceDefect } from './types.ts';

export const slowReaderBlocks: DeviceDefect = {
  name: 'slow-reader-blocks',
  side: 'device',
  summary: 'Waits for the slowest subscriber before anyone gets the next event.',
  breaks: ['device.events.slow-reader'],
  behaviour: (right) => {
    const waiting: (() => void)[] = [];
    return {
      ...right,
      stream: {
        ...right.stream,
        liveBufferBytes: Number.MAX_SAFE_INTEGER,
        fanOut: (live, send) => {
          waiting.push(() => right.stream.fanOut(live, send));
          const proceed = (): void => {
            if ([...live].some((subscriber) => subscriber.waiting > 0)) {
              setTimeout(proceed, 20).unref();
              return;
            }
            waiting.shift()?.();
          };
          proceed();
        },
      },
    };
  },
};
