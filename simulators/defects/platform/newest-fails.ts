import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import type { PlatformDefect } from './types.ts';

export const newestFails: PlatformDefect = {
  name: 'newest-fails',
  side: 'platform',
  summary: 'Fails to list git commits to clients of the newest version.',
  breaks: ['platform.version.supported'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource, version) => {
      if (kind === 'git_commit' && version === NEWEST_VERSION) throw new Error('nobody knows how to show this yet');
      return resource;
    },
  }),
};
