import type { PlatformDefect } from './types.ts';

export const defaultLimit20: PlatformDefect = {
  name: 'default-limit-20',
  side: 'platform',
  summary: 'Gives pages of 20 by default.',
  breaks: ['platform.list.defaults'],
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) => (values.length === 0 ? 20 : right.clampLimit(values)),
  }),
};
