/** Section 4.1: how a client asks for the current deployment. */
import { defined } from '../../harness/common/defined.ts';
import type { ClientPlace } from '../../harness/contract/client.ts';
import { DEPLOYMENT } from '../../harness/contract/client.ts';
import { DEVICE_API_PREFIX } from '../../harness/contract/versions.ts';
import { requirement } from '../../harness/runner/define.ts';
import { type Answering, Call } from './support/call.ts';
import { check } from './support/check.ts';
import type { Client } from './support/context.ts';
import { about, errorOf } from './support/platform.ts';

const COMMON = { section: '4.1', since: '2026-11-23' } as const;
const CURRENT = about('current');
export const CURRENT_PATH = `${DEVICE_API_PREFIX}/deployments/current`;

/** A Device API that has this as its current deployment. */
const showing =
  (deployment: unknown): Answering =>
  (asked) => {
    if (asked.method === 'GET' && asked.path === CURRENT_PATH) asked.answer(200, deployment);
    else asked.answer(404, errorOf('not_found'));
  };

const start = (t: Client, deployment: unknown, place?: ClientPlace): Promise<Call> =>
  Call.start(t, { job: 'current', answer: showing(deployment), ...defined({ place }) });

/** Whether the client gave that deployment to its caller, with these members as they were sent. */
function expectShown(call: Call, sent: Readonly<Record<string, unknown>>): void {
  const [seen] = call.saw('deployment');
  const given: Record<string, unknown> = { ...seen?.deployment };
  const differs = Object.keys(sent).find((name) => given[name] !== sent[name]);
  call.must(seen !== undefined && differs === undefined && call.failure === undefined, {
    expected: `{"saw":"deployment","deployment":…} with ${JSON.stringify(sent)}, and no error`,
    actual: seen === undefined ? call.outcome : `${differs}: ${JSON.stringify(given[differs ?? ''])}; ${call.outcome}`,
  });
}

const shown = requirement({
  ...COMMON,
  id: 'client.current.shown',
  level: 'MUST',
  clause: 'Purpose: return the current deployment of the device.',
  text: 'A client asks for /deployments/current, and gives the deployment to its caller as it was sent.',
});
const { id, description, status, activity_status, error_status, target_status, device_id, release_id } = DEPLOYMENT;
/** Not the moment, which a library may write in another form. */
const MEMBERS = { id, description, status, activity_status, error_status, target_status, device_id, release_id };
const shownCheck = check(shown, { needs: CURRENT.needs }, async (t) => {
  await using call: Call = await start(t, DEPLOYMENT);
  await call.ended();
  expectShown(call, MEMBERS);
});

const failed = requirement({
  ...COMMON,
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
const failedCheck = check(failed, CURRENT, async (t) => {
  await using call: Call = await start(t, { ...DEPLOYMENT, ...DIFFERENT });
  await call.ended();
  expectShown(call, { id, ...DIFFERENT });
});

const unknown = requirement({
  ...COMMON,
  id: 'client.current.unknown',
  level: 'SHOULD',
  text: 'Members and values of enumerations that a client does not know keep no deployment from its caller.',
});
const unknownCheck = check(unknown, CURRENT, async (t) => {
  const odd = { next: { generation: [1] }, ...DEPLOYMENT, activity_status: 'orbiting', status: 'orbiting' };
  await using call: Call = await start(t, odd);
  await call.ended();
  expectShown(call, { id, release_id });
});

const token = requirement({
  ...COMMON,
  id: 'client.current.token',
  level: 'MUST',
  section: '5',
  clause: 'connects to `127.0.0.1` on that port, and sends `Authorization: Bearer <ACCESS_TOKEN>`',
  text: 'Over loopback TCP a client asks for the current deployment with the token of the discovery file.',
});
const tokenCheck = check(token, { ...CURRENT, needs: ['current', 'discovery'] }, async (t) => {
  await using call: Call = await start(t, DEPLOYMENT, 'discovery');
  await call.ended();
  const { authorization = '' } = call.requests.find(({ path }) => path === CURRENT_PATH)?.headers ?? {};
  // The scheme of a credential is the same in any case (RFC 9110, section 11.1).
  call.must(/^bearer +(\S+)$/i.exec(authorization)?.[1] === call.secret, {
    expected: 'Authorization: Bearer with the token of the discovery file',
    actual: authorization === '' ? 'no Authorization' : 'another Authorization',
  });
  expectShown(call, MEMBERS);
});

const socket = requirement({
  ...COMMON,
  id: 'client.current.socket',
  level: 'MUST',
  section: '5',
  clause: 'Unix domain socket at `{socket_path}` | No token is used.',
  text: 'On a unix socket a client asks for the current deployment without credentials.',
});
const socketCheck = check(socket, { ...CURRENT, needs: ['current', 'socket'] }, async (t) => {
  await using call: Call = await start(t, DEPLOYMENT, 'socket');
  await call.ended();
  const { authorization } = call.requests.find(({ path }) => path === CURRENT_PATH)?.headers ?? {};
  call.must(authorization === undefined, { expected: 'no Authorization', actual: `Authorization: ${authorization}` });
  expectShown(call, MEMBERS);
});

export default [shownCheck, failedCheck, unknownCheck, tokenCheck, socketCheck];
