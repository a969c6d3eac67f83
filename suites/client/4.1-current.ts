/** Section 4.1: requests for the current deployment. */
import { defined } from '../../harness/common/defined.ts';
import { type ClientPlace, DEPLOYMENT } from '../../harness/contract/client.ts';
import { longId, numbered, UNSAFE_INTEGER } from '../../harness/contract/situations.ts';
import { DEVICE_API_PREFIX } from '../../harness/contract/versions.ts';
import { type Client, section } from './support/check.ts';
import { expectBearer, expectNoCredentials } from './support/client-run.ts';
import { type Answering, errorOf, forJob, JobRun } from './support/job-run.ts';
import type { ClientRequest } from './support/server.ts';

export const { requirement, check, checks } = section({ section: '4.1', since: '2026-11-23' });

const CURRENT = forJob('current');
const CURRENT_PATH = `${DEVICE_API_PREFIX}/deployments/current`;

const showing =
  (deployment: unknown): Answering =>
  (asked) => {
    if (asked.method === 'GET' && asked.path === CURRENT_PATH) asked.answer(200, deployment);
    else asked.answer(404, errorOf('not_found'));
  };

const start = (t: Client, deployment: unknown, place?: ClientPlace): Promise<JobRun> =>
  JobRun.untilEnded(t, { job: 'current', answer: showing(deployment), ...defined({ place }) });

function expectShown(run: JobRun, sent: Readonly<Record<string, unknown>>): void {
  const [seen] = run.saw('deployment');
  const given: Record<string, unknown> = { ...seen?.deployment };
  const differs = Object.keys(sent).find((name) => given[name] !== sent[name]);
  run.must(seen !== undefined && differs === undefined && run.failure === undefined, {
    expected: `{"saw":"deployment","deployment":…} with ${JSON.stringify(sent)}, and no error`,
    actual: seen === undefined ? run.outcome : `${differs}: ${JSON.stringify(given[differs ?? ''])}; ${run.outcome}`,
  });
}

const shown = requirement({
  id: 'client.current.shown',
  level: 'MUST',
  clause: 'Purpose: return the current deployment of the device.',
  text: 'A client asks for /deployments/current, and gives the deployment to its caller as it was sent.',
});
const { id, description, status, activity_status, error_status, target_status, device_id, release_id } = DEPLOYMENT;
/** Omits `created_at`, which a library may write in another format. */
const MEMBERS = { id, description, status, activity_status, error_status, target_status, device_id, release_id };
check(shown, { needs: CURRENT.needs, essential: true }, async (t) => {
  await using run: JobRun = await start(t, DEPLOYMENT);
  expectShown(run, MEMBERS);
});

const failed = requirement({
  id: 'client.current.status',
  level: 'MUST',
  section: '2.2',
  clause: '`status` equals `error_status` when an error is present (`failed` or `retrying`)',
  text: 'A client gives each of the four states of a deployment to its caller, also where they differ.',
});
const DIFFERENT = {
  status: 'retrying',
  activity_status: 'queued',
  error_status: 'retrying',
  target_status: 'deployed',
} as const;
check(failed, CURRENT, async (t) => {
  await using run: JobRun = await start(t, { ...DEPLOYMENT, ...DIFFERENT });
  expectShown(run, { id, ...DIFFERENT });
});

const unknown = requirement({
  id: 'client.current.unknown',
  level: 'SHOULD',
  text: 'Members and values of enumerations that a client does not know keep no deployment from its caller.',
});
check(unknown, CURRENT, async (t) => {
  const long = { release_id: longId('rls_') };
  const odd = {
    next: { generation: [UNSAFE_INTEGER] },
    ...DEPLOYMENT,
    ...long,
    activity_status: 'orbiting',
    status: 'orbiting',
  };
  await using run: JobRun = await start(t, numbered({ ...odd, serial: UNSAFE_INTEGER }));
  expectShown(run, { id, ...long });
});

const headersIn = ({ requests }: JobRun): ClientRequest['headers'] =>
  requests.find(({ path }) => path === CURRENT_PATH)?.headers ?? {};

const token = requirement({
  id: 'client.current.token',
  level: 'MUST',
  section: '5',
  clause: 'connects to `127.0.0.1` on that port, and sends `Authorization: Bearer <ACCESS_TOKEN>`',
  text: 'Over loopback TCP a client asks for the current deployment with the token of the discovery file.',
});
check(token, { ...CURRENT, needs: ['current', 'discovery'] }, async (t) => {
  await using run: JobRun = await start(t, DEPLOYMENT, 'discovery');
  expectBearer(run, headersIn(run), run.secret);
  expectShown(run, MEMBERS);
});

const socket = requirement({
  id: 'client.current.socket',
  level: 'MUST',
  section: '5',
  clause: 'Unix domain socket at `{socket_path}` | No token is used.',
  text: 'On a unix socket a client asks for the current deployment without credentials.',
});
check(socket, { ...CURRENT, needs: ['current', 'socket'] }, async (t) => {
  await using run: JobRun = await start(t, DEPLOYMENT, 'socket');
  expectNoCredentials(run, headersIn(run));
  expectShown(run, MEMBERS);
});
