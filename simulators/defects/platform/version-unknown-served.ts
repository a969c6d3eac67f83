import type { PlatformDefect } from './types.ts';

export const versionUnknownServed: PlatformDefect = {
  name: 'version-unknown-served',
  side: 'platform',
  summary: 'Serves versions that were never released as the newest one.',
  breaks: ['platform.version.unknown'],
  behaviour: (right) => ({
    ...right,
    version: (header) =>
      right.version(header) ??
      (header !== undefined && /^(?!2025)\d{4}-\d{2}-\d{2}\.[a-z]+$/.test(header)
        ? right.version('2026-08-17.everglades')
        : undefined),
  }),
};
