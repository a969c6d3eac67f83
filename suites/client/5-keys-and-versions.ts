/** Sections 5 and 9: tokens of a Device API, API keys and versions of a Platform API. */
import { PLATFORM_JOBS, type PlatformJob } from '../../harness/contract/client.ts';
import { event, frame, numbered, UNSAFE_INTEGER } from '../../harness/contract/situations.ts';
import { DIALECTS, END_OF_LIFE_VERSIONS, NAMES_BY_DIALECT } from '../../harness/contract/versions.ts';
import { VERSION_FORMAT } from '../watched.ts';
import { type Client, NEWEST, section } from './support/check.ts';
import { expectBearer, expectNoCredentials, openElsewhere, START_PATIENCES } from './support/client-run.ts';
import { errorOf, forJob, IS_ASKED, JobRun, longList, platform } from './support/job-run.ts';
import type { ClientRequest } from './support/server.ts';
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
  await expectFirst(run, ({ headers }) => expectBearer(run, headers, run.token));
});

async function expectFirst(run: StreamRun, judge: (asked: ClientRequest) => void): Promise<void> {
  const asked = await run.request();
  judge(asked);
  await asked.accept().send(frame(first));
  await expectDispatched(run, [first]);
}

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
  level: 'SHOULD',
  since: NEWEST,
  clause: FILE,
  text: 'Members of the discovery file that a client does not know keep it from nothing.',
});
check(unknownMembers, AFTER_TOKEN, async (t) => {
  const more = { pid: UNSAFE_INTEGER, version: 'v0.2.2', paths: [{ events: '/events' }, null] };
  const prepare = async (run: StreamRun): Promise<void> =>
    run.writeDiscovery(numbered({ ...more, ...(JSON.parse(run.discovery) as object) }));
  await using run: StreamRun = await StreamRun.follow(t, { place: 'discovery', prepare });
  const asked = await run.until(() => run.requests[0], START_PATIENCES * run.patienceMs);
  run.must(asked, { expected: 'the client to go where the discovery file leads', actual: run.state });
  expectBearer(run, asked.headers, run.token);
});

const halfWritten = requirement({
  id: 'client.loopback.half-written',
  level: 'SHOULD',
  clause: FILE,
  text: 'A discovery file that is missing, empty or half written for a while does not end the client.',
});
/** Milliseconds for which the discovery file stays wrong, so that most clients read it again meanwhile. */
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
check(stale, AFTER_TOKEN, (t) => expectPatience(t, (run) => run.restart()));

async function expectPatience(t: Client, prepare: (run: StreamRun) => Promise<void>): Promise<void> {
  await using run: StreamRun = await StreamRun.follow(t, { place: 'discovery', prepare });
  await run.pause(BROKEN_MS);
  const expected = 'the client to wait for a discovery file that leads to the agent';
  run.must(!run.over, { expected, actual: run.state });
  run.writeDiscovery();
  // Earlier checks saw requests of this client, so silence is a finding.
  await run.until(() => run.requests[0], START_PATIENCES * run.patienceMs);
  run.must(run.requests.length > 0, { expected, actual: run.state });
  await expectFirst(run, ({ headers }) => expectBearer(run, headers, run.token));
}

const tokenElsewhere = requirement({
  id: 'client.loopback.elsewhere',
  level: 'SHOULD',
  protective: true,
  clause: 'connects to `127.0.0.1` on that port',
  text: 'A client that is led to another address does not send the token there.',
});
check(tokenElsewhere, AFTER_TOKEN, async (t) => {
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
  // Waits for the next request to this server, because the client follows the redirection before it.
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
  await expectFirst(run, ({ headers }) => expectNoCredentials(run, headers));
});

const connected = (t: Client): Promise<StreamRun> => StreamRun.after(t, [first], { place: 'discovery' });

async function expectBack(run: StreamRun): Promise<void> {
  const back = await run.request('the client to come to the new port');
  expectBearer(run, back.headers, run.token);
  expectCursor(run, back, first.id);
  await back.accept().send(frame(second));
  await expectDispatched(run, [first, second]);
}

const KEY = 'x-api-key';

export const keySent = requirement({
  id: 'client.key.sent',
  level: 'MUST',
  clause: 'Requests carry the header `X-API-Key: <API_KEY>`.',
  text: 'Every request to the Platform API has the API key in X-API-Key, and not in its address.',
});
for (const job of PLATFORM_JOBS)
  check(keySent, { ...forJob(job), aspect: job }, async (t) => {
    await using run: JobRun = await JobRun.untilSettled(t, { job, answer: longList });
    const without = run.requests.find(({ headers }) => headers[KEY] !== run.secret);
    const sent = without?.headers[KEY] === undefined ? 'none' : 'another one';
    const expected = 'X-API-Key with the key on every request';
    run.must(without === undefined, { expected, actual: `${without?.method} ${without?.path} with ${sent}` });
    const shown = run.requests.some(({ query, path }) => `${path}?${query}`.includes(run.secret));
    t.should(!shown, { expected: 'no key in the address, which servers log', actual: 'the key in the address' });
  });

export const address = requirement({
  id: 'client.key.address',
  level: 'SHOULD',
  since: NEWEST,
  protective: true,
  text: 'A client does not write the API key into an address, which servers and proxies log.',
});
for (const job of PLATFORM_JOBS)
  check(address, { ...forJob(job), aspect: job }, async (t) => {
    await using run: JobRun = await JobRun.untilSettled(t, { job, answer: longList });
    const shown = run.requests.find(({ query, path }) => `${path}?${query}`.includes(run.secret));
    run.must(shown === undefined, { expected: 'no key in any address', actual: `the key, in that of ${shown?.path}` });
  });

const keyElsewhere = requirement({
  id: 'client.key.elsewhere',
  level: 'SHOULD',
  protective: true,
  text: 'A client that is led to another host does not send the API key there.',
});
for (const job of ['list', 'ping'] as const) {
  const premises = [...forJob(job).premises, `${keySent.id}.${job}`];
  check(keyElsewhere, { ...forJob(job), aspect: job, premises }, async (t) => {
    const seen: string[] = [];
    let whole: JobRun | undefined;
    await using other = await openElsewhere(t, {
      track: (what) => whole?.timeline.request(what, ' (at the other host)'),
      request: (asked) => {
        seen.push(JSON.stringify([asked.headers, asked.path, asked.query.toString(), asked.body]));
        if (whole !== undefined) void platform()(asked, whole);
      },
    });
    const lead = (asked: ClientRequest): void =>
      asked.answer(307, '', { location: `${other.origin}${asked.path}?${asked.query}` });
    await using run: JobRun = await JobRun.start(t, { job, answer: platform({ [job]: lead }) });
    whole = run;
    await run.ended();
    run.must(!seen.some((said) => said.includes(run.secret)), {
      expected: 'no API key at another host',
      actual: 'the API key, at the host that a redirection named',
    });
  });
}

const printed = requirement({
  id: 'client.key.printed',
  level: 'SHOULD',
  protective: true,
  text: 'A client writes the API key neither to its output nor to its errors, also when the key is refused.',
});
for (const job of PLATFORM_JOBS)
  check(printed, { ...forJob(job), aspect: job }, async (t) => {
    const refuse = (asked: ClientRequest): void => asked.answer(401, errorOf('unauthorized'));
    for (const answer of [platform(), platform({ [job]: refuse })]) {
      await using run: JobRun = await JobRun.untilSettled(t, { job, answer });
      if (!run.requests.some(IS_ASKED[job])) t.undecided('the client sent no request of its job');
      run.must(!run.printedSecret, { expected: 'no API key', actual: 'the API key, in what it wrote' });
    }
  });

async function expectVersion(t: Client, job: PlatformJob): Promise<void> {
  await using run: JobRun = await JobRun.untilSettled(t, { job, answer: longList });
  seeDialect(t, run);
  const named = run.requests.map(({ headers }) => headers[t.versionHeader.toLowerCase()]);
  const wrong = named.findIndex((version = '') => !VERSION_FORMAT.test(version) || version !== named[0]);
  run.must(wrong === -1, {
    expected: `${t.versionHeader}: <YYYY-MM-DD>.<codename>, the same one on every request`,
    actual: named[wrong] === undefined ? noVersion(t, run, wrong) : `${t.versionHeader}: ${named[wrong]}`,
  });
  const ended = END_OF_LIFE_VERSIONS.find((version) => version === named[0]);
  t.should(ended === undefined, { expected: 'a version that is still supported', actual: `${ended}` });
}

function noVersion(t: Client, { requests }: JobRun, index: number): string {
  const { method = '', path = '', headers = {} } = requests[index] ?? {};
  const names = Object.keys(headers);
  const other = otherDialects(t).find(({ header }) => names.includes(header.toLowerCase()));
  const hint = other === undefined ? '' : ` (${other.header} is that of --dialect ${other.name})`;
  return `none; ${method} ${path} has the headers ${names.join(', ')}${hint}`;
}

const otherDialects = ({ versionHeader }: Client): { name: string; header: string }[] =>
  DIALECTS.map((name) => ({ name, header: NAMES_BY_DIALECT[name].versionHeader })).filter(
    ({ header }) => header !== versionHeader,
  );

function seeDialect(t: Client, { requests }: JobRun): void {
  const has = (name: string): boolean => requests.some(({ headers }) => headers[name.toLowerCase()] !== undefined);
  const isOwn = has(t.versionHeader);
  const other = isOwn ? undefined : otherDialects(t).find(({ header }) => has(header));
  if (other === undefined && !isOwn) return;
  t.session.declarations.saw({
    name: 'dialect',
    declared: `the version in ${t.versionHeader}`,
    observed: other === undefined ? t.versionHeader : `${other.header} (add --dialect ${other.name})`,
    holds: other === undefined,
  });
}

export const ping = requirement({
  id: 'client.version.ping',
  level: 'MUST',
  section: '4.2',
  clause: 'Headers: `Content-Type: application/json`, `Service-Version: <version>`, `X-API-Key: <API_KEY>`.',
  text: 'A ping names the API version that the client was built against.',
});
check(ping, forJob('ping'), (t) => expectVersion(t, 'ping'));

export const versionSent = requirement({
  id: 'client.version.sent',
  level: 'SHOULD',
  section: '9',
  clause: 'The header `Service-Version` carries the API version the client was built against.',
  text: 'Every request to the Platform API names the API version that the client was built against.',
});
for (const job of ['list', 'deploy'] as const)
  check(versionSent, { ...forJob(job), aspect: job }, (t) => expectVersion(t, job));
