import type { PlatformDefect } from './types.ts';

export const nonsenseEchoed: PlatformDefect = {
  name: 'nonsense-echoed',
  side: 'platform',
  summary: 'Echoes a fraction or a power as limit.',
  breaks: ['platform.list.clamp.nonsense'],
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) => {
      const value = Number(values[0]);
      return values.length === 0 || Number.isInteger(value) || Number.isNaN(value) ? right.clampLimit(values) : value;
    },
  }),
};
