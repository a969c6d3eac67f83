import type { PlatformDefect } from './types.ts';

export const twoTargets: PlatformDefect = {
  name: 'two-targets',
  side: 'platform',
  summary: 'Keeps the target deployment of a device beside the one that replaces it.',
  breaks: ['platform.deployment.parent'],
  behaviour: (right) => ({
    ...right,
    replaces: false,
  }),
};
