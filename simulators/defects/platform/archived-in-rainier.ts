import type { PlatformDefect } from './types.ts';

export const archivedInRainier: PlatformDefect = {
  name: 'archived-in-rainier',
  side: 'platform',
  summary: 'Shows archived devices as archived to clients of older versions.',
  breaks: ['platform.device.archived'],
  behaviour: (right) => ({
    ...right,
    downStep: (kind) => kind !== 'device',
  }),
};
