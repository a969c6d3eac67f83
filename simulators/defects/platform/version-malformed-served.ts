import type { PlatformDefect } from './types.ts';

export const versionMalformedServed: PlatformDefect = {
  name: 'version-malformed-served',
  side: 'platform',
  summary: 'Takes a version header that it cannot read for the newest version.',
  breaks: ['platform.version.malformed'],
  behaviour: (right) => ({
    ...right,
    version: (header) =>
      header === undefined || /^\d{4}-\d{2}-\d{2}\.[a-z]+$/.test(header)
        ? right.version(header)
        : right.version('2026-08-17.everglades'),
  }),
};
