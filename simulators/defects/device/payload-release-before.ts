import type { DeviceDefect } from './types.ts';

export const payloadReleaseBefore: DeviceDefect = {
  name: 'payload-release-before',
  side: 'device',
  summary: 'Names in the payload the release of the deployment before.',
  breaks: ['device.events.payload.deployed'],
  behaviour: (right) => {
    let before: unknown;
    return {
      ...right,
      deployments: {
        ...right.deployments,
        event: ({ type, data }) => {
          const release = Reflect.get(data, 'release_id');
          const told = { ...data, release_id: before ?? release };
          if (type === 'deployment.deployed') before = release;
          return { type, data: type === 'deployment.deployed' ? told : data };
        },
      },
    };
  },
};
