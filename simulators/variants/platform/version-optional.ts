import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import type { PlatformVariant } from './types.ts';

export const versionOptional: PlatformVariant = {
  name: 'version-optional',
  side: 'platform',
  summary: 'Serves requests without a version header in the newest version.',
  behaviour: (right) => ({
    ...right,
    version: (header) => right.version(header ?? NEWEST_VERSION),
  }),
};
