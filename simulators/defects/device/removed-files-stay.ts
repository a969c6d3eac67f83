import type { DeviceDefect } from './types.ts';

export const removedFilesStay: DeviceDefect = {
  name: 'removed-files-stay',
  side: 'device',
  summary: 'Archives a removed deployment and leaves its files on the disk.',
  breaks: ['device.deployment.removed'],
  behaviour: (right) => ({ ...right, deployments: { ...right.deployments, removesFiles: false } }),
};
