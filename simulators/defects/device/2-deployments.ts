import { firstGiven } from '../define.ts';
import { answered, defect, onSome, refusals, variant, whenOver } from '../define-device.ts';

const CURRENT = ['device.deployment.current'];
const MERGE = ['device.deployment.merge'];

export const defects = [
  defect('deployment-time-not-iso', 'Shows created_at the way a browser writes a date.', ['device.deployment.shape'], {
    http: { deploymentBody: (body) => ({ ...body, created_at: new Date(body.created_at).toUTCString() }) },
  }),
  defect('deployment-ids-bare', 'Shows ids of releases without their prefix.', ['device.deployment.shape'], {
    http: { deploymentBody: (body) => ({ ...body, release_id: body.release_id.replace(/^rls_/, '') }) },
  }),
  defect('deployment-status-capitals', 'Writes activity_status in capitals.', ['device.deployment.shape'], {
    http: { deploymentBody: (body) => ({ ...body, activity_status: body.activity_status.toUpperCase() }) },
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
  defect('unknown-query-refused', 'Refuses query parameters that it does not know.', ['device.deployment.safe'], {
    http: onSome(({ url = '' }, response) => /\/deployments\/current\?./.test(url) && answered(response, 400)),
  }),
  defect(
    'current-is-the-first',
    'Keeps showing the first deployment that was current.',
    CURRENT,
    { http: () => ({ deploymentBody: firstGiven() }) },
    { rate: /^device\.deployment\.current: 3 of 3 times$/ },
  ),
  defect(
    'current-stale-now-and-then',
    'Shows the deployment before in place of every fifth, the second being the first of them.',
    CURRENT,
    () => {
      let [count, newest, shown]: [number, unknown, unknown] = [0, undefined, undefined];
      return {
        http: {
          deploymentBody: (deployment) => {
            if (newest !== deployment.id) count += 1;
            newest = deployment.id;
            if (count % 5 !== 2) shown = deployment;
            return shown;
          },
        },
      };
    },
    { rate: /^device\.deployment\.current: 2 of 3 times$/, seldom: true },
  ),
  defect('current-kept-for-a-connection', 'Shows on a connection what it showed there first.', CURRENT, () => {
    const first = new WeakMap<object, unknown>();
    let socket: object = {};
    return {
      http: ({ intercept }) => ({
        intercept: (request, response) => {
          ({ socket } = request);
          return intercept(request, response);
        },
        deploymentBody: (deployment) => {
          const shown = first.get(socket) ?? deployment;
          first.set(socket, shown);
          return shown;
        },
      }),
    };
  }),
  defect(
    'current-stale-beside-streams',
    'Answers late, and while a stream is open shows the deployment that was current before.',
    CURRENT,
    () => {
      let [open, shown]: [number, unknown] = [0, undefined];
      return {
        http: ({ intercept }) => ({
          // Milliseconds before each answer, in which a parallel check can open its stream.
          delayMs: () => 100,
          intercept: (request, response) => {
            if (!request.socket.destroyed && /\/events\b/.test(request.url ?? '')) {
              open += 1;
              whenOver(request, response, () => void open--);
            }
            return intercept(request, response);
          },
          deploymentBody: (deployment) => {
            if (open === 0) shown = deployment;
            shown ??= deployment;
            return shown;
          },
        }),
      };
    },
    {
      rate: /: only beside other requests or in an earlier state: 1 of 1 times, and 0 of 2 alone$/,
      beside: ['device.events.heartbeat.inert'],
      seldom: true,
    },
  ),
  defect('status-forgets-retrying', 'Lets only failed win over the activity, and forgets retrying.', MERGE, {
    deployments: { mergeStatus: (activity, error) => (error === 'failed' ? error : activity) },
  }),
  defect('status-archived-first', 'Shows archived even when the deployment failed.', MERGE, {
    deployments: ({ mergeStatus }) => ({
      mergeStatus: (activity, error) => (activity === 'archived' ? activity : mergeStatus(activity, error)),
    }),
  }),
  defect('removed-comes-back', 'Forgets at a restart what was removed.', ['device.deployment.removed'], {
    deployments: { remembers: 'no removal' },
  }),
  defect(
    'failed-stays',
    'Leaves a failed deployment where it is: neither archived nor removed.',
    ['device.deployment.failed'],
    { deployments: { failedArchives: false } },
  ),
  defect(
    'removed-files-stay',
    'Archives a removed or failed deployment and leaves its files on the disk.',
    ['device.deployment.removed', 'device.deployment.failed'],
    { deployments: { removesFiles: false } },
  ),
];

export const variants = [
  variant(
    'no-deployment-is-503',
    'Answers 503 while there is no current deployment: the specification shows no answer for that.',
    {
      http: refusals(({ status }, { url = '' }) => status === 404 && url.endsWith('/deployments/current'), {
        status: 503,
      }),
    },
  ),
];
