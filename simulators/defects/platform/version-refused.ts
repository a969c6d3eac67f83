import type { PlatformDefect } from './types.ts';

export const versionRefused: PlatformDefect = {
  name: 'version-refused',
  side: 'platform',
  summary: 'Refuses a version that it says it supports.',
  breaks: ['platform.version.supported'],
  behaviour: (right) => ({
    ...right,
    version: (header) => (header === '2026-03-09.tetons' ? undefined : right.version(header)),
  }),
};
