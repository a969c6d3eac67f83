import type { DeviceDefect } from './types.ts';

export const deviceIdAnew: DeviceDefect = {
  name: 'device-id-anew',
  side: 'device',
  summary: 'Takes another device id at each start.',
  breaks: ['device.deployment.restart'],
  behaviour: (right) => {
    let starts = 0;
    return {
      ...right,
      log: {
        ...right.log,
        highest: (last, mark, damaged) => {
          starts += 1;
          return right.log.highest(last, mark, damaged);
        },
      },
      http: { ...right.http, deploymentBody: (deployment) => ({ ...deployment, device_id: `dvc_${starts}` }) },
    };
  },
};
