import type { PlatformDefect } from './types.ts';

export const versionOmittedFails: PlatformDefect = {
  name: 'version-omitted-fails',
  side: 'platform',
  summary: 'Fails on a request without a version.',
  breaks: ['platform.version.omitted'],
  behaviour: (right) => ({
    ...right,
    version: (header) => {
      if (header === undefined) throw new TypeError('there is no version');
      return right.version(header);
    },
  }),
};
