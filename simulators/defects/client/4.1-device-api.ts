import { CallFailed, type FollowBehaviour } from '../../client/behaviour.ts';
import { defect, isDeploymentStatus, variant } from '../define-client.ts';

const TYPES = ['client.request.types'];

type Members = Readonly<Record<string, unknown>>;
const shows = (change: (deployment: Members) => Members) => ({
  current: { shown: (value: Members) => ({ deployment: change(value) }) },
});

const withHeaders =
  (change: (headers: Record<string, string>) => Record<string, string>) =>
  ({ request }: FollowBehaviour): Pick<FollowBehaviour, 'request'> => ({
    request: (path, cursor) => {
      const asked = request(path, cursor);
      return { ...asked, headers: change(asked.headers) };
    },
  });

export const defects = [
  defect('types-apart', 'Names each type that its caller wants in a parameter of its own.', TYPES, {
    follow: { types: (wanted = '') => (wanted === '' ? '' : `types=${wanted.split(',').join('&types=')}`) },
  }),
  defect('types-forgotten', 'Asks for all types when it asks again.', TYPES, () => {
    let asked = 0;
    return { follow: ({ types }) => ({ types: (wanted) => (asked++ > 0 ? '' : types(wanted)) }) };
  }),
  defect('accepts-json', 'Asks for application/json.', ['client.request.accept'], {
    follow: withHeaders((headers) => ({ ...headers, accept: 'application/json' })),
  }),
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
      if (!isDeploymentStatus(deployment['status'])) throw new CallFailed('unknown status');
      return deployment;
    }),
  }),
];

export const variants = [
  variant('types-as-they-are', 'Writes the commas between types as they are.', {
    follow: { types: (wanted) => (wanted === undefined ? '' : `types=${wanted}`) },
  }),
  variant('types-untaken', 'Does not let its caller choose types.', { follow: { types: () => '' } }),
  variant('no-accept', 'Sends no Accept.', { follow: withHeaders(({ accept: _, ...headers }) => headers) }),
  variant('accepts-anything', 'Accepts the stream among other types, or anything.', {
    follow: withHeaders((headers) => ({ ...headers, accept: 'application/json;q=0.1, */*' })),
  }),
  variant('unknown-status-as-text', 'Shows a status that it does not know as unknown.', {
    jobs: shows((deployment) =>
      isDeploymentStatus(deployment['status']) ? deployment : { ...deployment, status: 'unknown' },
    ),
  }),
];
