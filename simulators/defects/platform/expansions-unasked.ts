import type { PlatformDefect } from './types.ts';

export const expansionsUnasked: PlatformDefect = {
  name: 'expansions-unasked',
  side: 'platform',
  summary: 'Expands releases that nobody asked for.',
  breaks: ['platform.device.expand'],
  behaviour: (right) => ({
    ...right,
    expandsAlways: true,
  }),
};
