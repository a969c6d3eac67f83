import { defect } from '../define-device.ts';

export const defects = [
  defect(
    'status-forgets-retrying',
    'Lets only failed win over the activity, and forgets retrying.',
    ['device.deployment.merge'],
    { deployments: { mergeStatus: (activity, error) => (error === 'failed' ? error : activity) } },
  ),
  defect('status-archived-first', 'Shows archived even when the deployment failed.', ['device.deployment.merge'], {
    deployments: ({ mergeStatus }) => ({
      mergeStatus: (activity, error) => (activity === 'archived' ? activity : mergeStatus(activity, error)),
    }),
  }),
];
