/** Section 5: tokens on loopback TCP, access to the unix socket, and discovery. */

import { execFile } from 'node:child_process';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { limitIn, NoAnswer, Unreachable } from '../../harness/client/errors.ts';
import { HttpClient } from '../../harness/client/http.ts';
import { openEvents } from '../../harness/client/sse.ts';
import { jsonOf } from '../../harness/common/lenient.ts';
import { discoveryFile } from '../../harness/contract/device-api.ts';
import { Violation } from '../../harness/runner/violation.ts';
import { LoopbackConnection, UnixConnection } from '../../harness/targets/transports/index.ts';
import { type Device, ignoring, inTime, PREFIX, STREAM } from './support/check.ts';
import { problemsOf } from './support/events.ts';
import {
  CURRENT,
  describeResponse,
  isDeployment,
  isEventStream,
  isServed,
  objectOf,
  refuseThrottled,
  request,
} from './support/requests.ts';
import { section } from './support/section.ts';
import { describeAnswer, type Streams } from './support/streams.ts';

export const { requirement, check, checks } = section({ section: '5', since: '2026-11-21' });

const noToken = requirement({
  id: 'device.socket.no-token',
  level: 'MUST',
  clause: 'No token is used.',
  text: 'Requests over the unix socket succeed without any credential.',
});
check(noToken, { needs: ['unix'], profile: 'core', premises: PREFIX, essential: true }, (t: Device, streams) =>
  expectDeviceApi(t, streams, t.http.with({ headers: {} }), 'without credentials'),
);

const loopbackOf = ({ transport, notApplicable }: Device): LoopbackConnection =>
  transport instanceof LoopbackConnection ? transport : notApplicable('the target is not reached by a loopback port');

/** Expects a deployment or a stream, because a server that answers every path with 200 offers neither. */
async function expectDeviceApi(t: Device, streams: Streams, http: HttpClient, how: string): Promise<void> {
  const response = await request(t, { path: CURRENT }, `an answer ${how}`, http);
  refuseThrottled(t, response);
  t.must(isServed(response), {
    expected: `200 ${how} (404 or so while the device has no deployment)`,
    actual: describeResponse(response),
  });
  const stream = await streams.try({}, http).catch(ignoring(Violation));
  const opens = stream?.status === 200 && isEventStream(stream);
  const refused = stream?.status === 401 || stream?.status === 403;
  t.must(!refused && (opens || isDeployment(response)), {
    expected: `a deployment ${how}, or an event stream while there is none; no refusal`,
    actual:
      `${describeResponse(response)} for ${CURRENT}, and ` +
      `${stream === undefined ? 'no answer' : await describeAnswer(t, stream)} for /events`,
  });
}

const discovery = requirement({
  id: 'device.loopback.discovery',
  level: 'MUST',
  clause:
    'The client reads a JSON discovery file at `{discovery_file}` containing `port` and `token`, ' +
    'connects to `127.0.0.1` on that port',
  text:
    'The discovery file is JSON with a port from 1 to 65535 and a token that is not empty; ' +
    'the Device API answers there.',
});
check(
  discovery,
  { needs: ['loopback'], profile: 'core', premises: PREFIX, essential: true, runsWhenUnreachable: true },
  async (t: Device, streams) => {
    const { discovery: file } = loopbackOf(t);
    const text = await readFile(file, 'utf8').catch((error: Error) => t.blocked(`${file}: ${error.message}`));
    const content = jsonOf(text);
    t.must(content !== undefined, {
      expected: 'a discovery file that is JSON',
      actual: `${text.length} bytes that are not`,
    });
    const problems = problemsOf(discoveryFile, content);
    t.must(problems === undefined, {
      expected: 'a discovery file with port (an integer from 1 to 65535) and token (a string that is not empty)',
      actual: problems,
    });
    const { token } = content as { token: string };
    const at = [...token].findIndex((character) => character < ' ' || character === '\x7f');
    const what = /[\r\n]/.test(token[at] ?? '') ? 'a line end' : 'a control character';
    t.must(at < 0, {
      expected: 'a token that the header Authorization can carry: no line end, and no other control character',
      actual: `${what} at ${at + 1} of ${token.length}`,
    });
    await expectDeviceApi(t, streams, t.http, 'at the port and with the token of the discovery file');
  },
);

const bearer = requirement({
  id: 'device.loopback.bearer-required',
  level: 'MUST',
  clause: 'sends `Authorization: Bearer <ACCESS_TOKEN>`. Required.',
  text: 'On loopback TCP nothing is served without the token, with a wrong one, or with a part of it.',
});
check(bearer, { needs: ['loopback'], profile: 'core', premises: STREAM }, async (t: Device, streams) => {
  const { token } = loopbackOf(t);
  // Opens a stream with the token first, because a device that serves no request would pass.
  await (await streams.open()).close();
  await shouldRefuseTokenElsewhere(t, token);
  await expectWrongTokensRefused(t, token);
});

/** Only warns, because each request contains the right token, or that token in the other case. */
async function shouldRefuseTokenElsewhere(t: Device, token: string): Promise<void> {
  const shouldRefuse = async (path: string, authorization: string | undefined, what: string): Promise<void> => {
    const status = await statusOn(t, path, clientWith(t, authorization));
    t.should(status === undefined || status >= 300, { expected: `nothing served for ${what}`, actual: status });
  };
  for (const authorization of [token, `Basic ${token}`, `Token ${token}`, `Nobearer ${token}`])
    await shouldRefuse('/events', authorization, 'the token that is not sent as a bearer token');
  const swapped = otherCase(token);
  t.http.recorder.redactor.add(swapped);
  if (swapped !== token && !usesBothCases(token))
    await shouldRefuse('/events', `Bearer ${swapped}`, 'the token in the other case');
  const escaped = encodeURIComponent(token);
  t.http.recorder.redactor.add(escaped);
  // Servers log URLs, so a token in the query should not be accepted.
  for (const name of ['access_token', 'token'])
    await shouldRefuse(`/events?${name}=${escaped}`, undefined, `the token as ?${name}=, and not in a header`);
}

async function expectWrongTokensRefused(t: Device, token: string): Promise<void> {
  const changed = (from: number, to: number): string =>
    [...token].map((sign, at) => (at >= from && at < to ? (/z/i.test(sign) ? '7' : 'Z') : sign)).join('');
  const bare = withoutPadding(token);
  const late = Math.max(0, bare.length - 4);
  const others = [changed(0, token.length), changed(0, 1), changed(late, late + 1)].filter((other) => other !== token);
  if (usesBothCases(token)) others.push(otherCase(token));
  const without = headersWithoutToken(token);
  const headers = [...without, ...others.map((other) => `Bearer ${other}`)];
  const examples = headers.flatMap((header): [unknown][] => [[[header, CURRENT]], [[header, '/events']]]);
  const anyWrongHeader = fc
    .oneof(
      fc.constantFrom(...without),
      fc.nat({ max: Math.max(0, bare.length - 2) }).map((length) => `Bearer ${bare.slice(0, length)}`),
      fc.stringMatching(/^[A-Za-z0-9]{1,40}$/).map((text) => `Bearer ${text}`),
      fc.stringMatching(/^[A-Za-z0-9]{1,8}$/).map((more) => `Bearer ${token}${more}`),
      fc.nat({ max: Math.floor((bare.length - 1) / 2) }).map((at) => `Bearer ${changed(at, at + 1)}`),
    )
    .filter((header) => header?.toLowerCase() !== `bearer ${token.toLowerCase()}`);
  await t.property(
    fc.tuple(anyWrongHeader, fc.constantFrom(CURRENT, '/events')),
    ([authorization, path]) => expectRefusal(t, path, authorization),
    {
      runs: examples.length + 12,
      examples,
      // Gives only the length, because the header may contain most of the token.
      describe: ([authorization, path]: [string | undefined, string]) =>
        authorization === undefined
          ? `GET ${path} with no Authorization`
          : `GET ${path} with an Authorization of ${authorization.length} characters that is not the right one`,
    },
  );
}

/** Drops the padding, which a device that decodes the token may ignore. */
const withoutPadding = (token: string): string => token.replace(/=+$/, '');

function headersWithoutToken(token: string): (string | undefined)[] {
  const bare = withoutPadding(token);
  return [
    undefined,
    'Bearer',
    'Bearer null',
    'Bearer *',
    'Basic Og==',
    `Bearer ${bare.slice(0, Math.ceil(bare.length / 2))}`,
    `Bearer ${bare.slice(0, -2)}`,
    `Bearer ${bare.slice(0, 1)}`,
    `Bearer ${token}x`,
  ].filter((header) => ![bare, token].some((same) => header?.toLowerCase() === `bearer ${same.toLowerCase()}`));
}

const otherCase = (token: string): string =>
  [...token].map((sign) => (sign === sign.toLowerCase() ? sign.toUpperCase() : sign.toLowerCase())).join('');

/** False for a token in one case, such as hexadecimal, which may be valid in both cases. */
const usesBothCases = (token: string): boolean => /[a-z]/.test(token) && /[A-Z]/.test(token);

async function expectRefusal(t: Device, path: string, authorization: string | undefined): Promise<void> {
  const status = await statusOn(t, path, clientWith(t, authorization));
  if (status === undefined) return t.observe('a request without the token', 'dropped without an answer');
  const shown = authorization === undefined ? 'no Authorization' : 'a wrong Authorization';
  t.must(status >= 300, { expected: `nothing served for GET ${path} with ${shown} (401 is usual)`, actual: status });
  t.should(status === 401, { expected: `401 for GET ${path} with ${shown}`, actual: status });
  const kept = { keepsAlive: true };
  const before = 'an answer before the connection is used again';
  const served = await request(t, { path: CURRENT }, before, t.http.with(kept));
  const later = await statusOn(t, path, clientWith(t, authorization).with(kept));
  t.must(later === undefined || later >= 300, {
    expected: `nothing served for GET ${path} with ${shown}, on a connection that was used with the token`,
    actual: later,
  });
  if (path !== CURRENT) return expectNoEvents(t, clientWith(t, authorization));
  const refusal = await request(t, { path }, 'a refusal', clientWith(t, authorization));
  const id = String(objectOf(served)?.['id'] ?? '');
  const isShown = id.length >= LEAST_TELLING && refusal.text.includes(id);
  t.must(objectOf(refusal)?.['object'] !== 'deployment' && !isShown, {
    expected: 'no deployment in the body of a refusal',
    actual: `${refusal.status} with a deployment`,
  });
}

/** Minimum length of an id to search for in a refusal; a text may contain a shorter one by chance. */
const LEAST_TELLING = 8;
const REFUSAL_MS = 500;

async function expectNoEvents(t: Device, http: HttpClient): Promise<void> {
  const asking = inTime(t, 'stream', (within) => openEvents(http, { after: 0, within }));
  const stream = await asking.catch(ignoring(NoAnswer));
  if (stream === undefined) return;
  await stream.rest({ within: REFUSAL_MS, atMost: REFUSAL_MS, for: 'the end of a refusal' }).catch(() => {});
  await stream.close();
  t.must(stream.status >= 300 && !/^data:.*"object"\s*:\s*"event"/m.test(stream.head()), {
    expected: 'no events in the body of a refusal',
    actual: `${stream.status} ${JSON.stringify(stream.head().slice(0, 300))}`,
  });
}

async function statusOn(t: Device, path: string, http: HttpClient): Promise<number | undefined> {
  const opening = inTime(t, 'stream', (timeoutMs) => http.open({ path, timeoutMs }));
  const opened = await opening.catch(ignoring(NoAnswer));
  opened?.abort();
  return opened?.status;
}

const clientWith = (t: Device, authorization: string | undefined) =>
  t.http.with({ headers: authorization === undefined ? {} : { authorization } });

const scheme = requirement({
  id: 'device.loopback.scheme-case',
  level: 'SHOULD',
  clause: 'the bearer token (HTTP bearer scheme)',
  text: 'The case of the authentication scheme does not matter, as in HTTP (RFC 9110, section 11.1).',
});
check(scheme, { needs: ['loopback'], premises: STREAM }, async (t: Device, streams) => {
  const { token } = loopbackOf(t);
  for (const name of ['Bearer', 'bearer', 'BEARER']) {
    const stream = await streams.try({}, clientWith(t, `${name} ${token}`));
    t.must(stream.status === 200, {
      expected: `200 for GET /events with the scheme written "${name}"`,
      actual: stream.status,
    });
  }
});

const permissions = requirement({
  id: 'device.socket.permissions',
  level: 'MUST',
  clause: 'Access is governed by the file permissions on the socket; the client needs permission to open it.',
  text:
    'A process whose user may not open the socket, by the permissions of the file, ' +
    'is refused by the operating system.',
});
check(permissions, { needs: ['unix', 'root'], premises: STREAM }, async (t: Device, streams) => {
  if (!(t.transport instanceof UnixConnection)) return t.notApplicable('the target is not reached by a socket');
  const { socketPath } = t.transport;
  // Proves that a server listens, since an abandoned socket refuses every user.
  await streams.open();
  if (await openToOthers(socketPath))
    t.notApplicable('every user may open the socket, by its permissions: nobody is to be refused');
  const involved = await idsServing(socketPath);
  const user = OTHER_USERS.find((other) => !involved.has(other)) ?? Math.max(...OTHER_USERS);
  const result = await connectAs(t, user, socketPath);
  if (result === undefined) return t.undecided('no process of another user can be started here');
  t.must(result === 'EACCES' || result === 'EPERM', {
    expected: 'EACCES for a user whom the permissions of the socket do not admit',
    actual: result,
  });
});

/** Ids of users and of groups: `nobody` on common systems, and two rarely used ids. */
const OTHER_USERS = [65_534, 65_533, 65_532];
const OTHERS_WRITE = 0o002;
const GROUP_OR_OTHERS_WRITE = 0o022;
const OTHERS_ENTER = 0o001;

/** Script of a child process, because a process cannot undo a change of its user. */
const ATTEMPT = `
const socket = require('node:net').connect(process.argv[1]);
socket.on('connect', () => { process.stdout.write('connected'); process.exit(); });
socket.on('error', (error) => { process.stdout.write(error.code); process.exit(); });
`;

/** Path of Node that other users can start too, even if they may not enter its folder, e.g. below `/root`. */
const OWN_PROGRAM = process.platform === 'linux' ? '/proc/self/exe' : process.execPath;

async function connectAs({ signal }: Device, user: number, path: string): Promise<string | undefined> {
  const options = { uid: user, gid: user, cwd: '/', env: {}, signal };
  try {
    const { stdout } = await promisify(execFile)(OWN_PROGRAM, ['-e', ATTEMPT, path], options);
    return stdout === '' ? undefined : stdout;
  } catch (error) {
    if (limitIn(error) !== undefined) throw error;
    return undefined;
  }
}

async function idsServing(path: string): Promise<Set<number>> {
  const ids = new Set<number>();
  const sockets = await readFile('/proc/net/unix', 'utf8').catch(() => '');
  // Compares names alone, because the agent may have made its socket at another path, e.g. behind a link.
  const isSame = (line: string): boolean => [' ', '/'].some((before) => line.endsWith(before + basename(path)));
  const lines = sockets.split('\n').filter(isSame);
  const inodes = lines.map((line) => line.trim().split(/\s+/)[6]);
  const processes = inodes.length === 0 ? [] : (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const name of processes) {
    const links = await readdir(`/proc/${name}/fd`).catch(() => []);
    const targets = await Promise.all(links.map((link) => readlink(`/proc/${name}/fd/${link}`).catch(() => '')));
    if (!inodes.some((inode) => targets.includes(`socket:[${inode}]`))) continue;
    const status = await readFile(`/proc/${name}/status`, 'utf8').catch(() => '');
    for (const [, shown = ''] of status.matchAll(/^(?:Uid|Gid|Groups):(.*)$/gm))
      for (const id of shown.trim().split(/\s+/)) ids.add(Number(id));
  }
  const [folder, socket] = await Promise.all([stat(dirname(path)), stat(path)]);
  // Adds the socket's owner if it may write to the folder, because /proc may hide an agent in another namespace.
  const mayBeMade = folder.uid === socket.uid || (folder.mode & GROUP_OR_OTHERS_WRITE) !== 0;
  if (mayBeMade) ids.add(socket.uid).add(socket.gid);
  return ids.add(folder.uid).add(folder.gid);
}

async function openToOthers(path: string): Promise<boolean> {
  if (((await stat(path)).mode & OTHERS_WRITE) === 0) return false;
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    if (((await stat(directory)).mode & OTHERS_ENTER) === 0) return false;
    if (directory === dirname(directory)) return true;
  }
}

const loopbackOnly = requirement({
  id: 'device.loopback.only',
  protective: true,
  level: 'SHOULD',
  clause: 'connects to `127.0.0.1` on that port',
  text: 'The loopback Device API cannot be reached at another address of the machine.',
});
check(loopbackOnly, { needs: ['loopback'], premises: STREAM }, async (t: Device, streams) => {
  const { port } = loopbackOf(t);
  await streams.open();
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, scopeid }) => !internal && (scopeid ?? 0) === 0)
    .map(({ address }) => address);
  if (addresses.length === 0) return t.notApplicable('this machine has no address but loopback');
  for (const address of addresses) {
    t.must(!(await answersAt(t, address, port)), {
      expected: `port ${port} closed at ${address}`,
      actual: 'the Device API answers there',
    });
  }
});

async function answersAt(t: Device, host: string, port: number): Promise<boolean> {
  const name = host.includes(':') ? `[${host}]` : host;
  const http = new HttpClient({
    endpoint: { origin: `http://${name}:${port}` },
    basePath: t.http.basePath,
    headers: t.http.headers,
    recorder: t.http.recorder,
  });
  try {
    // Counts two seconds without an answer as closed, because some addresses drop packets.
    const socket = await http.connect({ timeoutMs: Math.min(2000, t.patienceMs) }).catch(() => undefined);
    if (socket === undefined) return false;
    socket.destroy();
    const opening = http.open({ path: '/events', timeoutMs: t.patienceMs });
    const opened = await opening.catch(ignoring(NoAnswer, Unreachable));
    opened?.abort();
    return opened?.status === 200;
  } finally {
    await http.close();
  }
}
