import type { PlatformDefect } from './types.ts';

export const reportsDropped: PlatformDefect = {
  name: 'reports-dropped',
  side: 'platform',
  summary: 'Does not store what a device reports.',
  breaks: ['system.deploy'],
  behaviour: (right) => ({
    ...right,
    report: () => undefined,
  }),
};
