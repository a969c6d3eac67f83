import type { PlatformDefect } from './types.ts';

export const failureNotArchived: PlatformDefect = {
  name: 'failure-not-archived',
  side: 'platform',
  summary: 'Leaves a failed deployment as the target of its device.',
  breaks: ['system.failed'],
  behaviour: (right) => ({
    ...right,
    failureArchives: false,
    report: (report) => (report.error_status === 'failed' ? { error_status: 'failed' } : report),
  }),
};
