import type { DeviceDefect } from './types.ts';

export const deploymentAsText: DeviceDefect = {
  name: 'deployment-as-text',
  side: 'device',
  summary: 'Sends the deployment as text/plain.',
  breaks: ['device.deployment.shape'],
  behaviour: (right) => ({ ...right, http: { ...right.http, jsonType: 'text/plain' } }),
};
