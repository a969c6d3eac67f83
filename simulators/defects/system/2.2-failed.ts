import { defect } from '../define-platform.ts';

export const defects = [
  defect(
    'failure-not-archived',
    'Leaves a failed deployment as the target of its device.',
    ['system.failed'],
    {
      failureArchives: false,
      report: (report) => (report.error_status === 'failed' ? { error_status: 'failed' } : report),
    },
    { tells: /to end failed and archived.*activity queued, error failed, target deployed/ },
  ),
];
