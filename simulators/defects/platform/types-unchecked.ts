import type { PlatformDefect } from './types.ts';

export const typesUnchecked: PlatformDefect = {
  name: 'types-unchecked',
  side: 'platform',
  summary: 'Stores values of any type.',
  breaks: ['platform.robust.bodies'],
  behaviour: (right) => ({
    ...right,
    bodyProblems: () => [],
  }),
};
