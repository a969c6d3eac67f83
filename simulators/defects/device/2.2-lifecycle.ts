import { defect } from '../define-device.ts';

export const defects = [
  defect('removed-comes-back', 'Forgets at a restart what was removed.', ['device.deployment.removed'], {
    deployments: { remembers: 'no removal' },
  }),
  defect(
    'failed-stays',
    'Leaves a failed deployment where it is: neither archived nor removed.',
    ['device.deployment.failed'],
    { deployments: { failedArchives: false } },
  ),
  defect(
    'removed-files-stay',
    'Archives a removed or failed deployment and leaves its files on the disk.',
    ['device.deployment.removed', 'device.deployment.failed'],
    { deployments: { removesFiles: false } },
  ),
];
