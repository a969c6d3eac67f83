import type { PlatformDefect } from './types.ts';

export const removingInTetons: PlatformDefect = {
  name: 'removing-in-tetons',
  side: 'platform',
  summary: 'Shows removing to clients of tetons.',
  breaks: ['platform.deployment.removing'],
  behaviour: (right) => ({
    ...right,
    downStep: (kind) => kind !== 'deployment',
  }),
};
