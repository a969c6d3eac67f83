import type { PlatformDefect } from './types.ts';

export const slotsInRainier: PlatformDefect = {
  name: 'slots-in-rainier',
  side: 'platform',
  summary: 'Shows instance_slots to clients of older versions.',
  breaks: ['platform.schema.slots'],
  behaviour: (right) => ({
    ...right,
    downStep: (kind) => kind !== 'config_schema',
  }),
};
