import type { PlatformDefect } from './types.ts';

export const defaultOffset1: PlatformDefect = {
  name: 'default-offset-1',
  side: 'platform',
  summary: 'Begins with the second item by default.',
  breaks: ['platform.list.defaults'],
  behaviour: (right) => ({
    ...right,
    clampOffset: (values) => (values.length === 0 ? 1 : right.clampOffset(values)),
  }),
};
