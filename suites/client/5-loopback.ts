/** Section 5: token and discovery file of a Device API on loopback TCP, and its unix socket without a token. */

import { event, frame, numbered, UNSAFE_INTEGER } from '../../harness/contract/situations.ts';
import { type Client, NEWEST, section } from './support/check.ts';
import { expectBearer, expectNoCredentials, openElsewhere } from './support/client-run.ts';
import { expectCursor, expectDispatched, StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ section: '5', since: '2026-11-23' });

const FILE = 'The client reads a JSON discovery file at `{discovery_file}` containing `port` and `token`';
const DISCOVERY = ['follow', 'discovery'] as const;

const first = event(1);
const second = event(2);

export const token = requirement({
  id: 'client.loopback.token',
  level: 'MUST',
  clause: 'connects to `127.0.0.1` on that port, and sends `Authorization: Bearer <ACCESS_TOKEN>`',
  text:
    'Over loopback TCP the client connects to the port of the discovery file, ' +
    'and sends its token as a bearer token.',
});
check(token, { needs: DISCOVERY, premises: ['client.stream.dispatch'] }, async (t) => {
  await using run: StreamRun = await StreamRun.follow(t, { place: 'discovery' });
  const asked = await run.request();
  expectBearer(run, asked.headers, run.token);
  await asked.accept().send(frame(first));
  await expectDispatched(run, [first]);
});

const AFTER_TOKEN = { needs: DISCOVERY, premises: ['client.delivery.cursor', token.id] } as const;

const reread = requirement({
  id: 'client.loopback.reread',
  level: 'SHOULD',
  clause: FILE,
  text:
    'After a restart of the agent the client reads the discovery file anew, ' +
    'and goes on at the new port with the new token.',
});
check(reread, AFTER_TOKEN, async (t) => {
  await using run: StreamRun = await connected(t);
  await run.restart();
  run.writeDiscovery();
  await expectBack(run);
});

const unknownMembers = requirement({
  id: 'client.loopback.unknown-members',
  since: NEWEST,
  level: 'SHOULD',
  clause: FILE,
  text: 'Members of the discovery file that a client does not know keep it from nothing.',
});
check(unknownMembers, AFTER_TOKEN, async (t) => {
  const more = { pid: UNSAFE_INTEGER, version: 'v0.2.2', paths: [{ events: '/events' }, null] };
  const prepare = async (run: StreamRun): Promise<void> =>
    run.writeDiscovery(numbered({ ...more, ...(JSON.parse(run.discovery) as object) }));
  await using run: StreamRun = await StreamRun.follow(t, { place: 'discovery', prepare });
  const asked = await run.until(() => run.requests[0], 3 * run.patienceMs);
  run.must(asked, { expected: 'the client to go where the discovery file leads', actual: run.state });
  expectBearer(run, asked.headers, run.token);
});

const halfWritten = requirement({
  id: 'client.loopback.half-written',
  level: 'SHOULD',
  clause: FILE,
  text: 'A discovery file that is missing, empty or half written for a while does not end the client.',
});
/** Milliseconds within which any client reads the discovery file again. */
const BROKEN_MS = 3000;
check(halfWritten, { ...AFTER_TOKEN, slow: true }, async (t) => {
  await using run: StreamRun = await connected(t);
  run.writeDiscovery('');
  await run.restart();
  for (const text of ['', run.discovery.slice(0, -20)]) {
    run.writeDiscovery(text);
    await run.pause(BROKEN_MS);
    run.must(!run.over, { expected: 'the client to wait for a discovery file that is whole', actual: run.state });
  }
  run.writeDiscovery();
  await expectBack(run);
});

check(halfWritten, { ...AFTER_TOKEN, aspect: 'start' }, (t) =>
  expectPatience(t, async (run) => run.writeDiscovery(run.discovery.slice(0, -20))),
);

const stale = requirement({
  id: 'client.loopback.stale',
  level: 'SHOULD',
  clause: FILE,
  text: 'A client that finds the discovery file of an agent that is gone waits for the new one.',
});
// The old discovery file names a port where nobody listens, so the client must wait for a new file.
check(stale, AFTER_TOKEN, (t) => expectPatience(t, (run) => run.restart()));

async function expectPatience(t: Client, prepare: (run: StreamRun) => Promise<void>): Promise<void> {
  await using run: StreamRun = await StreamRun.follow(t, { place: 'discovery', prepare });
  await run.pause(BROKEN_MS);
  const expected = 'the client to wait for a discovery file that leads to the agent';
  run.must(!run.over, { expected, actual: run.state });
  run.writeDiscovery();
  // Waits for a request; earlier checks saw requests of this client, so silence is a finding.
  await run.until(() => run.requests[0], 3 * run.patienceMs);
  run.must(run.requests.length > 0, { expected, actual: run.state });
  const asked = await run.request();
  expectBearer(run, asked.headers, run.token);
  await asked.accept().send(frame(first));
  await expectDispatched(run, [first]);
}

const elsewhere = requirement({
  id: 'client.loopback.elsewhere',
  protective: true,
  level: 'SHOULD',
  clause: 'connects to `127.0.0.1` on that port',
  text: 'A client that is led to another address does not send the token there.',
});
check(elsewhere, AFTER_TOKEN, async (t) => {
  await using run: StreamRun = await StreamRun.follow(t, { place: 'discovery' });
  const seen: (string | undefined)[] = [];
  await using other = await openElsewhere(t, {
    track: (what) => run.timeline.request(what, ' (at the other address)'),
    request: (asked) => {
      seen.push(asked.headers['authorization']);
      asked.answer(404, { error: 'not here' });
    },
  });
  (await run.request()).answer(307, '', { location: `${other.url}/events` });
  // Waits for the next request to this server, before which the client has followed the redirection.
  await run.requestWithin(run.patienceMs);
  run.must(!seen.some((value) => value?.includes(run.token) === true), {
    expected: 'no token at another address than 127.0.0.1 and the port of the discovery file',
    actual: 'the token, at the address that a redirection named',
  });
});

export const socket = requirement({
  id: 'client.loopback.socket',
  level: 'MUST',
  clause: 'Unix domain socket at `{socket_path}` | No token is used.',
  text: 'On a unix socket the client sends no credentials.',
});
check(socket, { needs: ['follow', 'socket'], premises: ['client.stream.dispatch'] }, async (t) => {
  await using run: StreamRun = await StreamRun.follow(t, { place: 'socket' });
  const asked = await run.request();
  expectNoCredentials(run, asked.headers);
  await asked.accept().send(frame(first));
  await expectDispatched(run, [first]);
});

const connected = (t: Client): Promise<StreamRun> => StreamRun.after(t, [first], { place: 'discovery' });

async function expectBack(run: StreamRun): Promise<void> {
  const back = await run.request('the client to come to the new port');
  expectBearer(run, back.headers, run.token);
  expectCursor(run, back, first.id);
  await back.accept().send(frame(second));
  await expectDispatched(run, [first, second]);
}
