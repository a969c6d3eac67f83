import type { DeviceVariant } from './types.ts';

export const saysWhenItAnswered: DeviceVariant = {
  name: 'says-when-it-answered',
  side: 'device',
  summary: 'Adds the time of the answer to deployments, and that of sending to envelopes.',
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      deploymentBody: (deployment) => ({ ...deployment, served_at: performance.now() }),
    },
    stream: {
      ...right.stream,
      frame: (event) =>
        right.stream.frame({ ...event, json: event.json.replace(/}$/, `,"sent_at":${performance.now()}}`) }),
    },
  }),
};
