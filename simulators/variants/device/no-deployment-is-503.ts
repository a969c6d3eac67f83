import type { DeviceVariant } from './types.ts';

export const noDeploymentIs503: DeviceVariant = {
  name: 'no-deployment-is-503',
  side: 'device',
  summary: 'Answers 503 while there is no current deployment: what it answers then is not shown.',
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      refusal: (refusal, request) => {
        const kept = right.http.refusal(refusal, request);
        return kept.status === 404 && request.url?.endsWith('/deployments/current') === true
          ? { ...kept, status: 503 }
          : kept;
      },
    },
  }),
};
