import type { DeviceDefect } from './types.ts';

export const logWithComments: DeviceDefect = {
  name: 'log-with-comments',
  side: 'device',
  summary: 'Writes remarks between the events in the log.',
  breaks: ['device.log.jsonl'],
  behaviour: (right) => ({
    ...right,
    log: { ...right.log, lines: (events) => `${right.log.lines(events)}# ${events.length} stored\n` },
  }),
};
