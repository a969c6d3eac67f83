import type { DeviceDefect } from './types.ts';

export const payloadStatusUnmerged: DeviceDefect = {
  name: 'payload-status-unmerged',
  side: 'device',
  summary: 'Writes status ok into the payload in place of the merged one.',
  breaks: ['device.events.payload.deployed'],
  behaviour: (right) => ({
    ...right,
    deployments: { ...right.deployments, event: ({ type, data }) => ({ type, data: { ...data, status: 'ok' } }) },
  }),
};
