import type { DeviceVariant } from './types.ts';

export const extraFields: DeviceVariant = {
  name: 'extra-fields',
  side: 'device',
  summary: 'Adds fields that the specification does not show to deployments, envelopes and payloads.',
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      deploymentBody: (deployment) => ({ ...deployment, updated_at: deployment.created_at, labels: {} }),
    },
    deployments: {
      ...right.deployments,
      event: (draft) => ({ type: draft.type, data: { ...draft.data, config_instances: [], note: null } }),
    },
    stream: {
      ...right.stream,
      frame: (event) => right.stream.frame({ ...event, json: event.json.replace(/}$/, ',"trace":{"id":7}}') }),
    },
  }),
};
