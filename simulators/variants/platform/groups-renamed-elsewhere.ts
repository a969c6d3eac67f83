import { PlatformError } from '../../platform/ports.ts';
import type { PlatformVariant } from './types.ts';

export const groupsRenamedElsewhere: PlatformVariant = {
  name: 'groups-renamed-elsewhere',
  side: 'platform',
  summary: 'Renames groups at a path of its own, not by PATCH.',
  behaviour: (right) => ({
    ...right,
    bodyProblems: (operation, value, check) => {
      if (operation === 'updateGroup') throw new PlatformError(405, 'method_not_allowed', 'PATCH is not served here');
      return right.bodyProblems(operation, value, check);
    },
  }),
};
