import type { PlatformDefect } from './types.ts';

export const slotsOfPreviousSchema: PlatformDefect = {
  name: 'slots-of-previous-schema',
  side: 'platform',
  summary: 'Uses the path of the previous schema where slots are omitted.',
  breaks: ['platform.schema.slots'],
  behaviour: (right) => ({
    ...right,
    defaultFilepath: ({ derived, previous }) => previous ?? derived,
  }),
};
