import { inVersion } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import type { PlatformVariant } from './types.ts';

export const unexpandedIsNull: PlatformVariant = {
  name: 'unexpanded-is-null',
  side: 'platform',
  summary: 'Shows what is not expanded as null.',
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource, version) => {
      const names = Object.entries(RESOURCES[kind].expansions).filter(([, expansion]) => inVersion(expansion, version));
      return { ...Object.fromEntries(names.map(([name]) => [name, null])), ...resource };
    },
  }),
};
