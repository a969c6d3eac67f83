import { defect, onSome, variant } from '../define-device.ts';

export const defects = [
  defect('deployment-without-target', 'Leaves target_status out of the deployment.', ['device.deployment.shape'], {
    http: { deploymentBody: (deployment) => ({ ...deployment, target_status: undefined }) },
  }),
  defect('deployment-time-as-number', 'Shows created_at as milliseconds since 1970.', ['device.deployment.shape'], {
    http: {
      deploymentBody: (deployment) => ({ ...deployment, created_at: Date.parse(deployment.created_at) }),
    },
  }),
  defect('deployment-time-not-iso', 'Shows created_at the way a browser writes a date.', ['device.deployment.shape'], {
    http: {
      deploymentBody: (deployment) => ({ ...deployment, created_at: new Date(deployment.created_at).toUTCString() }),
    },
  }),
  defect('deployment-ids-bare', 'Shows ids of releases without their prefix.', ['device.deployment.shape'], {
    http: {
      deploymentBody: (deployment) => ({ ...deployment, release_id: deployment.release_id.replace(/^rls_/, '') }),
    },
  }),
  defect('deployment-status-capitals', 'Writes statuses in capitals.', ['device.deployment.shape'], {
    http: {
      deploymentBody: (deployment) => ({ ...deployment, activity_status: deployment.activity_status.toUpperCase() }),
    },
  }),
  defect('deployment-object-missing', 'Leaves object out of the deployment.', ['device.deployment.shape'], {
    http: { deploymentBody: (deployment) => ({ ...deployment, object: undefined }) },
  }),
  defect('deployment-wrapped', 'Wraps the deployment in an envelope of its own.', ['device.deployment.shape'], {
    http: { deploymentBody: (deployment) => ({ deployment }) },
  }),
  defect('deployment-as-text', 'Sends the deployment as text/plain.', ['device.deployment.shape'], {
    http: { jsonType: 'text/plain' },
  }),
  defect('read-touches-deployment', 'Sets created_at again on each read.', ['device.deployment.safe'], {
    http: { deploymentBody: (deployment) => ({ ...deployment, created_at: new Date().toISOString() }) },
  }),
  defect(
    'unknown-query-refused',
    'Refuses query parameters that it does not know.',
    ['device.deployment.safe'],
    onSome((request, response) => {
      if (!/\/deployments\/current\?./.test(request.url ?? '')) return false;
      response.writeHead(400).end();
      return true;
    }),
  ),
  defect(
    'current-is-the-first',
    'Keeps showing the first deployment that was current.',
    ['device.deployment.current'],
    () => {
      let first: unknown;
      return {
        http: {
          deploymentBody: (deployment) => {
            first ??= deployment;
            return first;
          },
        },
      };
    },
  ),
];

export const variants = [
  variant(
    'no-deployment-is-503',
    'Answers 503 while there is no current deployment: the specification shows no answer for that.',
    {
      http: ({ refusal }) => ({
        refusal: (wanted, request) => {
          const kept = refusal(wanted, request);
          return kept.status === 404 && request.url?.endsWith('/deployments/current') === true
            ? { ...kept, status: 503 }
            : kept;
        },
      }),
    },
  ),
];
