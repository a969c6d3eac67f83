import type { PlatformDefect } from './types.ts';

export const rainierRefused: PlatformDefect = {
  name: 'rainier-refused',
  side: 'platform',
  summary: 'Refuses a version that is supported.',
  breaks: ['platform.version.supported'],
  behaviour: (right) => ({
    ...right,
    version: (header) => (header?.endsWith('.rainier') === true ? undefined : right.version(header)),
  }),
};
