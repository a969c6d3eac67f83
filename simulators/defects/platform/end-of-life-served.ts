import type { PlatformDefect } from './types.ts';

export const endOfLifeServed: PlatformDefect = {
  name: 'end-of-life-served',
  side: 'platform',
  summary: 'Serves a version that is no longer supported.',
  breaks: ['platform.version.end-of-life'],
  behaviour: (right) => ({
    ...right,
    version: (header) => (header === '2025-10-21.zion' ? right.version('2026-03-09.tetons') : right.version(header)),
  }),
};
