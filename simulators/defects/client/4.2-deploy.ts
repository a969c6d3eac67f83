/** Clients that create a deployment wrongly. */
import { defect, variant } from '../define-client.ts';

export const defects = [
  defect('deploys-twice', 'Creates two deployments for one call.', ['client.deploy.shown'], {
    jobs: { deploy: { requests: 2 } },
  }),
  defect('parent-null', 'Asserts that the device has no deployment, without a look.', ['client.deploy.parent'], {
    jobs: { deploy: ({ body }) => ({ body: (wanted) => ({ ...body(wanted), parent_id: null }) }) },
  }),
];

export const variants = [
  variant('deploys-again', 'Creates a deployment again when no answer came.', {
    calls: ({ retry }) => ({
      retry: (why) => retry(why.job === 'deploy' ? { ...why, job: 'list' } : why),
    }),
  }),
];
