import { PlatformError } from '../../platform/ports.ts';
import type { PlatformVariant } from './types.ts';

export const groupsMovedElsewhere: PlatformVariant = {
  name: 'groups-moved-elsewhere',
  side: 'platform',
  summary: 'Moves groups at a path of its own, not at /groups/{id}/move.',
  behaviour: (right) => ({
    ...right,
    bodyProblems: (operation, value, check) => {
      if (operation === 'moveGroup') throw new PlatformError(404, 'unknown_route', 'there is nothing at this path');
      return right.bodyProblems(operation, value, check);
    },
  }),
};
