import type { PlatformDefect } from './types.ts';

export const replacedIsStagedAgain: PlatformDefect = {
  name: 'replaced-is-staged-again',
  side: 'platform',
  summary: 'Puts a deployment that was replaced back to staged.',
  breaks: ['platform.deployment.forward-only'],
  behaviour: (right) => ({
    ...right,
    retired: () => 'staged',
  }),
};
