import { defined } from '../../harness/common/defined.ts';
import { CLIENT_VARIABLES, type ClientPlace, DEPLOYMENT } from '../../harness/contract/client.ts';
import { event, frame, longId, numbered, UNSAFE_INTEGER } from '../../harness/contract/situations.ts';
import { type Client, DISPATCH, FOLLOW, NEWEST, NO_CHOICE, RECONNECT, section } from './support/check.ts';
import { expectBearer, expectNoCredentials } from './support/client-run.ts';
import { errorOf, forJob, JobRun } from './support/job-run.ts';
import type { ClientRequest } from './support/server.ts';
import { CURRENT_PATH, StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '4.1', since: '2026-11-23' });

export const accept = requirement({
  id: 'client.request.accept',
  level: 'SHOULD',
  clause: 'open a long-lived SSE stream of events',
  text: 'A client asks for text/event-stream, or accepts anything.',
});
check(accept, { needs: FOLLOW, premises: DISPATCH }, async (t) => {
  await using run: StreamRun = await StreamRun.follow(t);
  const { headers } = await run.request();
  const value = headers['accept'];
  const accepts = value === undefined || /text\/event-stream|text\/\*|\*\/\*/i.test(value);
  run.must(accepts, { expected: 'Accept: text/event-stream, */* or none', actual: `Accept: ${value}` });
});

export const types = requirement({
  id: 'client.request.types',
  since: NEWEST,
  clause: '`types` | string | no | Comma-separated list of event types; when omitted all types are sent.',
  text: 'A client whose caller can choose types of events asks for those, as one list with commas.',
});
const WISHES = ['deployment.removed', 'deployment.deployed,deployment.removed'] as const;
check(types, { needs: FOLLOW, premises: RECONNECT }, async (t) => {
  const asked: string[] = [];
  for (const wish of WISHES) {
    await using run: StreamRun = await StreamRun.open(t, { variables: { [CLIENT_VARIABLES.types]: wish } });
    const stream = run.current;
    asked.push(typesOf(stream));
    if (asked.length < WISHES.length) continue;
    if (asked[0] === asked[1]) t.notApplicable(NO_CHOICE);
    run.must(asked.join(' and ') === WISHES.map(inOrder).join(' and '), {
      expected: `types=${WISHES.join(' and types=')}, as ${CLIENT_VARIABLES.types} says`,
      actual: asked.map((each) => (each === '' ? 'none' : `types=${each}`)).join(' and '),
    });
    await stream.send(frame(event(1, { type: 'deployment.removed', data: {} })));
    await run.untilDispatched('1');
    stream.end();
    const again = typesOf(await run.request());
    const expected = `types=${wish} again after the stream has ended`;
    t.should(again === asked.at(-1), { expected, actual: again === '' ? 'none' : `types=${again}` });
  }
});

const typesOf = ({ query }: ClientRequest): string => inOrder(query.get('types') ?? '');
const inOrder = (list: string): string => list.split(',').toSorted().join(',');

const CURRENT = forJob('current');

function start(t: Client, deployment: unknown, place?: ClientPlace): Promise<JobRun> {
  const answer = (asked: ClientRequest): void => {
    if (asked.method === 'GET' && asked.path === CURRENT_PATH) asked.answer(200, deployment);
    else asked.answer(404, errorOf('not_found'));
  };
  return JobRun.untilEnded(t, { job: 'current', answer, ...defined({ place }) });
}

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
  clause: 'Purpose: return the current deployment of the device.',
  text: 'A client asks for /deployments/current, and gives the deployment to its caller as it was sent.',
});
const { id, description, status, activity_status, error_status, target_status, device_id, release_id } = DEPLOYMENT;
/** Members to compare: not `created_at`, which a library may write in another format. */
const MEMBERS = { id, description, status, activity_status, error_status, target_status, device_id, release_id };
check(shown, { needs: CURRENT.needs, essential: true }, async (t) => {
  await using run: JobRun = await start(t, DEPLOYMENT);
  expectShown(run, MEMBERS);
});

const failed = requirement({
  id: 'client.current.status',
  section: '2.2',
  clause: '`status` equals `error_status` when an error is present (`failed` or `retrying`)',
  text: 'A client gives each of the four states of a deployment to its caller, also where they differ.',
});
check(failed, CURRENT, async (t) => {
  const sent = { status: 'retrying', activity_status: 'queued', error_status: 'retrying', target_status: 'deployed' };
  await using run: JobRun = await start(t, { ...DEPLOYMENT, ...sent });
  expectShown(run, { id, ...sent });
});

const unknown = requirement({
  id: 'client.current.unknown',
  level: 'SHOULD',
  text: 'Members and values of enumerations that a client does not know keep no deployment from its caller.',
});
check(unknown, CURRENT, async (t) => {
  const long = { release_id: longId('rls_') };
  const odd = { ...DEPLOYMENT, ...long, activity_status: 'orbiting', status: 'orbiting', serial: UNSAFE_INTEGER };
  await using run: JobRun = await start(t, numbered({ next: { generation: [UNSAFE_INTEGER] }, ...odd }));
  expectShown(run, { id, ...long });
});

const headersIn = ({ requests }: JobRun): ClientRequest['headers'] =>
  requests.find(({ path }) => path === CURRENT_PATH)?.headers ?? {};

const token = requirement({
  id: 'client.current.token',
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
  section: '5',
  clause: 'Unix domain socket at `{socket_path}` | No token is used.',
  text: 'On a unix socket a client asks for the current deployment without credentials.',
});
check(socket, { ...CURRENT, needs: ['current', 'socket'] }, async (t) => {
  await using run: JobRun = await start(t, DEPLOYMENT, 'socket');
  expectNoCredentials(run, headersIn(run));
  expectShown(run, MEMBERS);
});
