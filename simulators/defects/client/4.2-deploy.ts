/** Defects of clients that create a deployment wrongly. */
import { DEPLOYMENT_STATUSES } from '../../../harness/contract/enums.ts';
import { CallFailed } from '../../client/behaviour.ts';
import { defect, variant } from '../define-client.ts';

const UNKNOWN = ['client.deploy.unknown'];

export const defects = [
  defect('deploy-strict', 'Breaks down at a status of the new deployment that it does not know.', UNKNOWN, {
    jobs: {
      deploy: ({ shown }) => ({
        shown: (value) => {
          const known: readonly unknown[] = DEPLOYMENT_STATUSES;
          if (!known.includes(value['status'])) throw new CallFailed('unknown status');
          return shown(value);
        },
      }),
    },
  }),
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
