import type { PlatformDefect } from './types.ts';

export const targetNotReplaced: PlatformDefect = {
  name: 'target-not-replaced',
  side: 'platform',
  summary: 'Keeps the old target deployment beside the new one.',
  breaks: ['system.offline.newest'],
  behaviour: (right) => ({
    ...right,
    replaces: false,
  }),
};
