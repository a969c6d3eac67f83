/** Sections 4, 5 and 9: requests, credentials and API versions in observed traffic. */
import type { Happening, RequestSeen } from '../../../harness/client/happening.ts';
import { parseObject } from '../../../harness/common/lenient.ts';
import { isOrdinary } from '../../../harness/common/redact.ts';
import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../../harness/contract/lists.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import {
  isForCurrent,
  isForEvents,
  isPing,
  KEY,
  PerClient,
  queryOf,
  shownRequest,
  VERSION_FORMAT,
  versionOf,
  watchedRule,
} from '../../watched.ts';
import { accept, types } from '../4.1-device-api.ts';
import { body, timeout } from '../4.2-platform-api.ts';
import { address, keySent, ping as pingVersion, socket, token, versionSent } from '../5-keys-and-versions.ts';
import { SOON_MS, watched } from './support.ts';

const acceptRule = (): Rule => (seen, judge: Judge) => {
  if (seen.kind !== 'asked' || !isForEvents(seen.request)) return;
  judge.saw(() => shownRequest(seen.request));
  const value = seen.request.headers['accept'];
  judge.must(value === undefined || /text\/event-stream|text\/\*|\*\/\*/i.test(value), {
    expected: 'Accept: text/event-stream, */* or none',
    actual: `Accept: ${value}`,
  });
};

const typesRule = (): Rule => (seen, judge: Judge) => {
  if (seen.kind !== 'asked' || !isForEvents(seen.request)) return;
  const lists = queryOf(seen.request).getAll('types');
  if (lists.length === 0) return;
  judge.saw(() => shownRequest(seen.request));
  const expected = 'one parameter types, with commas between the types';
  judge.must(lists.length === 1, { expected, actual: `types=${lists.join(' and types=')}` });
};

const bodyRule = (): Rule => (seen, judge: Judge) => {
  if (seen.kind !== 'asked' || !isPing(seen.request) || seen.request.body === undefined) return;
  judge.saw(() => shownRequest(seen.request));
  const type = seen.request.headers['content-type'] ?? 'none';
  judge.must(parseObject(seen.request.body) !== undefined && /^application\/json *(;|$)/i.test(type), {
    expected: 'a JSON object, with Content-Type: application/json',
    actual: `Content-Type: ${type}, ${JSON.stringify(seen.request.body.slice(0, 200))}`,
  });
};

const timeoutRule = (): Rule => (seen, judge: Judge) => {
  if (seen.kind !== 'asked' || !isPing(seen.request)) return;
  const nanos = parseObject(seen.request.body)?.['timeout_nanos'];
  // No section requires `timeout_nanos`.
  if (nanos === undefined) return;
  judge.saw(() => shownRequest(seen.request));
  const fits = Number.isInteger(nanos) && Number(nanos) > 0 && Number(nanos) <= PING_TIMEOUT_MAXIMUM_NANOS;
  const expected = `timeout_nanos: an integer above 0, at most ${PING_TIMEOUT_MAXIMUM_NANOS}`;
  judge.must(fits, { expected, actual: JSON.stringify(nanos) });
};

export const deviceRules = [
  watched(accept, 'a stream that a client asks for', acceptRule),
  watched(types, 'a stream with the parameter types', typesRule),
];
const requestRules = [
  watched(body, 'a ping', bodyRule),
  watched(timeout, 'a ping with timeout_nanos', timeoutRule, [body]),
];

/** Request that only clients of the Platform API send: a ping, a new deployment, or a list. */
function apiRequest(seen: Happening): RequestSeen | undefined {
  if (seen.kind === 'asked') {
    const { request } = seen;
    return isPing(request) || isCreation(request) ? request : undefined;
  }
  if (seen.kind !== 'answer' || seen.request?.method !== 'GET') return undefined;
  const { json } = seen.answer;
  return typeof json === 'object' && json !== null && 'object' in json && json.object === 'list'
    ? seen.request
    : undefined;
}

/** A request without a key counts only if it shows knowledge of the API. */
const keyRule = (): Rule => {
  const withKey = new WeakMap<object, { path: string; agent: string | undefined }>();
  return (seen, judge: Judge) => {
    if (seen.kind !== 'asked' && seen.kind !== 'answer') return;
    const { request } = seen;
    // Skips requests with other credentials, which agents and users of a console send.
    if (request === undefined || request.headers['authorization'] !== undefined) return;
    if (request.headers['cookie'] !== undefined) return;
    const path = request.path;
    const hasKey = request.headers[KEY] !== undefined;
    const agent = request.headers['user-agent'];
    const before = withKey.get(request.connection);
    // The user agent matters, because a proxy sends requests of several clients over one connection.
    // A browser asks by OPTIONS, without any credential, whether it may send the key.
    const isSame = agent !== undefined && before?.agent === agent && before.path === path;
    const isAgain = isSame && request.method !== 'OPTIONS';
    if (hasKey) withKey.set(request.connection, { path, agent });
    const isList = request.method === 'GET' && LIST_PATH.test(path);
    const knowsApi = versionOf(request) !== undefined && (isPing(request) || isCreation(request) || isList);
    if (apiRequest(seen) !== request && !isAgain && !knowsApi) return;
    if (!hasKey && !isAgain && !knowsApi && seen.kind === 'asked') return;
    judge.saw(() => shownRequest(request));
    const expected = 'X-API-Key with the key on every request';
    judge.must(hasKey, { expected, actual: `${request.method} ${path} with none` });
  };
};

const isCreation = (request: RequestSeen): boolean =>
  request.method === 'POST' && request.path.endsWith('/deployments');
const LIST_PATH = /\/(devices|releases|deployments|config_\w+|device_groups)$/;

const addressRule = (): Rule => {
  const accepted = new Set<string>();
  return (seen, judge: Judge) => {
    if (seen.kind !== 'asked' && seen.kind !== 'over') return;
    const { request } = seen;
    const key = request.headers[KEY];
    // Excludes common words such as `dev`, and masked keys of a recording.
    const own = key === undefined || isOrdinary(key) || key.includes('***') ? undefined : key;
    if (seen.kind === 'over') {
      const { status = 0 } = seen.over;
      if (own === undefined || status < 200 || status > 299) return;
      accepted.delete(own);
      accepted.add(own);
      const [oldest] = accepted.size > 50 ? accepted : [];
      if (oldest !== undefined) accepted.delete(oldest);
      return;
    }
    const keys = own === undefined ? [...accepted] : [...accepted, own];
    if (keys.length === 0) return;
    judge.saw(() => shownRequest(request));
    const { target } = request;
    judge.must(!keys.some((each) => target.includes(each) || target.includes(encodeURIComponent(each))), {
      expected: 'no key in any address',
      actual: `the key, in that of ${request.path}`,
    });
  };
};

const isNoPing = (request: RequestSeen): boolean => !isPing(request);

/** Judges only requests with a key, because no one but clients of the API sends a key. */
const versionRule = (isMeant: (request: RequestSeen) => boolean) => (): Rule => (seen, judge: Judge) => {
  const request = apiRequest(seen);
  if (request === undefined || !isMeant(request) || request.headers[KEY] === undefined) return;
  judge.saw(() => shownRequest(request));
  const version = versionOf(request);
  judge.must(VERSION_FORMAT.test(version?.value ?? ''), {
    expected: 'Service-Version: <YYYY-MM-DD>.<codename>',
    actual: version === undefined ? 'none' : `${version.name}: ${version.value}`,
  });
};

const socketRule = (): Rule => (seen, judge: Judge) => {
  if (seen.kind !== 'asked') return;
  judge.saw(() => shownRequest(seen.request));
  judge.must(seen.request.headers['authorization'] === undefined, {
    expected: 'no Authorization',
    actual: 'Authorization, with a credential',
  });
};

const tokenRule = (): Rule => {
  const without = new PerClient(() => ({ requests: 0, at: 0 }));
  return (seen, judge: Judge) => {
    if (seen.kind !== 'over' || !(isForEvents(seen.request) || isForCurrent(seen.request))) return;
    const { request, over } = seen;
    judge.saw(() => shownRequest(request));
    const state = without.of(request.client);
    const authorization = request.headers['authorization'];
    const isRight = authorization !== undefined && (/^bearer +\S+$/i.test(authorization) || authorization === '***');
    state.requests = request.at - state.at > SOON_MS ? 1 : state.requests + 1;
    state.at = request.at;
    // Length of a client's series of requests at which a missing token is a finding; a port scan sends one or two.
    judge.must(isRight || (over.status !== 200 && state.requests < 3), {
      // Puts no word after `Bearer`, because redaction would mask that word as a credential.
      expected: 'Authorization with the token of the discovery file, as a Bearer',
      actual: authorization === undefined ? 'no Authorization' : 'another Authorization',
    });
  };
};

export const socketRules = [watched(socket, 'a request over the unix socket', socketRule)];
export const loopbackRules = [watched(token, 'a request over loopback', tokenRule)];
export const platformRules = [
  ...requestRules,
  watched(keySent, 'a request to the Platform API', keyRule),
  watchedRule(address, [], 'a request whose key is known', addressRule, { bySecrets: true }),
  watched(pingVersion, 'a ping', versionRule(isPing)),
  watched(versionSent, 'a request to the Platform API', versionRule(isNoPing)),
];
