/** Defects of clients that show the current deployment wrongly. */

import { DEPLOYMENT_STATUSES } from '../../../harness/contract/enums.ts';
import { CallFailed } from '../../client/behaviour.ts';
import { defect, variant } from '../define-client.ts';

type Members = Readonly<Record<string, unknown>>;
const shows = (change: (deployment: Members) => Members) => ({
  current: { shown: (value: Members) => ({ deployment: change(value) }) },
});

export const defects = [
  defect('current-without-release', 'Shows only the id and the states of a deployment.', ['client.current.shown'], {
    jobs: shows(({ id, status, activity_status, error_status, target_status }) => ({
      id,
      status,
      activity_status,
      error_status,
      target_status,
    })),
  }),
  defect('status-by-itself', 'Takes status from activity_status.', ['client.current.status'], {
    jobs: shows((deployment) => ({ ...deployment, status: deployment['activity_status'] })),
  }),
  defect('current-strict', 'Breaks down at a status that it does not know.', ['client.current.unknown'], {
    jobs: shows((deployment) => {
      const known: readonly unknown[] = DEPLOYMENT_STATUSES;
      if (!known.includes(deployment['status'])) throw new CallFailed('unknown status');
      return deployment;
    }),
  }),
];

export const variants = [
  variant('unknown-status-as-text', 'Shows a status that it does not know as unknown.', {
    jobs: shows((deployment) => {
      const known: readonly unknown[] = DEPLOYMENT_STATUSES;
      return known.includes(deployment['status']) ? deployment : { ...deployment, status: 'unknown' };
    }),
  }),
];
