import type { DeviceDefect } from './types.ts';

export const currentIsTheFirst: DeviceDefect = {
  name: 'current-is-the-first',
  side: 'device',
  summary: 'Goes on showing the deployment that was current first.',
  breaks: ['device.deployment.current'],
  behaviour: (right) => {
    let first: unknown;
    return {
      ...right,
      http: {
        ...right.http,
        deploymentBody: (deployment) => {
          first ??= deployment;
          return first;
        },
      },
    };
  },
};
