import { basename } from 'node:path';
import type { DeviceDefect } from './types.ts';

export const filesFlat: DeviceDefect = {
  name: 'files-flat',
  side: 'device',
  summary: 'Writes config files side by side, whatever their paths.',
  breaks: ['device.events.written-first'],
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      files: (files) => files.map(({ filepath, content }) => ({ filepath: `/${basename(filepath)}`, content })),
    },
  }),
};
