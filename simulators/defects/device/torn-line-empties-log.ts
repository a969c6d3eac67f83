import type { DeviceDefect } from './types.ts';

export const tornLineEmptiesLog: DeviceDefect = {
  name: 'torn-line-empties-log',
  side: 'device',
  summary: 'Takes a log with a torn line for unusable, and begins an empty one.',
  breaks: ['device.log.torn-tail'],
  behaviour: (right) => ({ ...right, log: { ...right.log, opening: (torn) => (torn ? 'empty' : 'repair') } }),
};
