import { expect, test } from 'vitest';
import type { Pairs } from '../../common/http-parser.ts';
import { trafficOfHar } from '../../watch/har-traffic.ts';
import type { ServerAddress } from '../../watch/traffic.ts';
import { eventOf, judgeOf, KEY } from '../testing/judge.ts';
import type { WatchedApi } from './suite.ts';

interface How {
  creator?: string;
  place?: Partial<ServerAddress>;
  origin?: string;
}

async function judged(api: WatchedApi, entries: readonly object[], { creator, place, origin }: How = {}) {
  const { judge, found } = await judgeOf(api, place);
  const timed = entries.map((entry) => ({ startedDateTime: '2026-11-26T10:00:00Z', time: 10, ...entry }));
  const har = { log: { version: '1.2', creator: { name: creator }, entries: timed } };
  const { lacks = [] } = trafficOfHar(har, (each) => judge.take(each), origin) ?? {};
  return { judge, found, lacks };
}

const ping = (request: object, response: object): object => ({
  request: { method: 'POST', url: 'http://x/beta/devices/dvc_1/ping', ...request },
  response: { status: 200, headers: JSON_TYPE, ...response },
});

const fieldsOf = (pairs: Pairs): object[] => pairs.map(([name, value]) => ({ name, value }));
const JSON_TYPE = fieldsOf([['Content-Type', 'application/json']]);

test('missing and cut bodies of a HAR are counted in one note each, and not judged', async () => {
  const request = { method: 'GET', url: 'http://x/beta/devices', headers: [] };
  const entry = { request, response: { status: 200, headers: [] } };
  const response = { status: 200, headers: JSON_TYPE, content: { size: 43, text: '{"object":"lis' } };
  const cut = { request: { ...request, headers: fieldsOf(KEY) }, response };
  const { judge, lacks, found } = await judged('platform', [entry, entry, cut]);
  expect(lacks).toContain('answers without a body: 2');
  expect(lacks).toContain('answers of which only the beginning is there: 1');
  expect({ found, unread: judge.seen.unread }).toEqual({ found: [], unread: {} });
});

const TYPED = [{ name: 'content-type', value: 'text/event-stream' }];

function reloads(origin: string, { headers = TYPED, ...content }: { headers?: object[]; mimeType?: string } = {}) {
  const lines = eventOf(5).map(([name, value]) => `${name}: ${value}\n`);
  const text = `${lines.join('')}\n`;
  return [0, 3000, 6000, 9000].map((at) => ({
    startedDateTime: new Date(at).toISOString(),
    time: 900,
    request: { method: 'GET', url: `${origin}/v0.2/events`, headers: [{ name: 'User-Agent', value: 'Mozilla' }] },
    response: { status: 200, headers, content: { ...content, text }, _error: 'net::ERR_ABORTED' },
  }));
}
const ROBOT = { origin: 'http://robot' };

test('a reloaded page in a HAR causes no finding, and other servers are skipped', async () => {
  const [own, others] = [reloads('http://robot'), reloads('http://other')];
  const { judge, found } = await judged('device', own, ROBOT);
  expect({ found, events: judge.seen.events }).toEqual({ found: [], events: 4 });
  const skipped = await judged('device', others, ROBOT);
  expect(skipped.judge.seen.exchanges).toBe(0);
  expect(skipped.lacks).toContain('entries of another server than http://robot: 4');
  const mixed = judged('device', [...own, ...others]);
  await expect(mixed).rejects.toThrow('--url: missing; the HAR holds requests to 2 servers');
});

test.each([
  ['right', {}, 4, []],
  ['right, where the HAR leaves headers out', { headers: [], mimeType: 'text/event-stream' }, 4, []],
  ['wrong', { headers: [], mimeType: 'application/json' }, 0, ['device.events.content-type.watched']],
])('a watch judges the content type of events in a HAR: %s', async (_, answer, events, expected) => {
  const { judge, found } = await judged('device', reloads('http://robot', answer), ROBOT);
  expect({ found, events: judge.seen.events }).toEqual({ found: expected, events });
});

test.each<[string, { base?: string }, boolean]>([
  ['/v0.2/events', {}, true],
  ['/robots/7/v0.2/events', {}, true],
  ['/robot7/events', { base: '/robot7' }, true],
  ['/events', {}, false],
  ['/ui/updates', {}, false],
  ['/v0.3/events', {}, false],
  ['/v0.2/updates', {}, false],
])('events of %s in a HAR (%j) are judged only if they are of the Device API: %s', async (path, change, isJudged) => {
  const request = { method: 'GET', url: `http://robot${path}`, headers: TYPED };
  const response = { status: 200, headers: TYPED, content: { text: 'data: {}\n\n' } };
  const { found } = await judged('device', [{ request, response }], { place: { isAnywhere: true, ...change } });
  expect(found.includes('device.events.frame.everywhere')).toBe(isJudged);
});

test.each([undefined, 0, -1])('a HAR without the duration of a ping (%s) causes no finding about it', async (time) => {
  const content = { text: '{"code":"success","round_trip_nanos":90000000}' };
  const entry = ping({ headers: fieldsOf(KEY), postData: { text: '{}' } }, { content });
  const { judge, found, lacks } = await judged('platform', [{ ...entry, time }]);
  expect(lacks).toContain('entries that do not say how long they took: 1');
  expect(found).not.toContain('platform.ping.success.watched');
  expect(judge.judged()['platform.ping.success.watched']?.sightings).toBe(1);
});

const SENT = fieldsOf([...KEY, ['Content-Type', 'application/json'], ['Content-Length', '26']]);
const PINGED = { size: 43, text: '{"code":"success","round_trip_nanos":90000}' };

test.each<[string, object, object, string[]]>([
  ['no body, in one that has it', { bodySize: 0, headers: SENT.slice(0, -1) }, {}, ['client.ping.body.watched']],
  ['a body that is not there', { bodySize: 26 }, {}, []],
  ['a body of which only headers tell', { bodySize: 0 }, {}, []],
  ['a body of unknown size', { bodySize: -1, headers: SENT.slice(0, -1) }, {}, []],
  ['parameters', { bodySize: 26, postData: { params: [{ name: 'a', value: 'b' }] } }, {}, []],
  ['an empty text', { bodySize: 26, postData: { text: '' } }, {}, []],
  ['no headers of the request', { headers: [], bodySize: 0 }, {}, []],
  ['no headers of the answer', { postData: { text: '{}' } }, { headers: [] }, []],
  ['no body of the answer', { postData: { text: '{}' } }, { content: { size: 0 } }, []],
  ['an answer that broke off', { postData: { text: '{}' } }, { _error: 'net::ERR_FAILED', content: { text: '{' } }, []],
  ['an answer that is lost', { postData: { text: '{}' } }, { _failureText: 'reset', content: { text: '{' } }, []],
])('a HAR with a ping of %s is judged only by its contents', async (_, asked, answered, expected) => {
  const entry = ping({ headers: SENT, ...asked }, { content: PINGED, ...answered });
  expect((await judged('platform', [entry])).found).toEqual(expected);
});

const VERSION = { name: 'Service-Version', value: '2026-03-09.tetons' };
test.each<[string, string, object[], string[]]>([
  ['a browser that leaves credentials out', 'WebInspector', [], []],
  ['a browser that keeps them', 'WebInspector', [{ name: 'Cookie', value: 'a=b' }], ['client.key.sent.watched']],
  ['a proxy', 'mitmproxy', [], ['client.key.sent.watched']],
])('a missing key in a HAR counts only where credentials are kept: %s', async (_, name, others, expected) => {
  const entry = (path: string, headers: object[]): object => ({
    request: { method: 'GET', url: `http://x${path}`, headers },
    response: { status: 401, headers: JSON_TYPE, content: { size: 2, text: '{}' } },
  });
  const entries = [entry('/beta/devices', [VERSION]), entry('/favicon.ico', [VERSION, ...others])];
  const { found, lacks } = await judged('platform', entries, { creator: name });
  expect(found.filter((id) => id.startsWith('client.'))).toEqual(expected);
  expect(lacks.includes('requests of which a browser may have left out credentials: 2')).toBe(expected.length === 0);
});

test.each<[string, string, Pairs, string[]]>([
  ['a browser that leaves credentials out', 'WebInspector', [], []],
  ['a tool that keeps credentials', 'mitmproxy', [], []],
  ['a client with a key', 'WebInspector', KEY, ['platform.list.envelope.everywhere']],
])('a page in a HAR is judged as a list only if its request has a key: %s', async (_, name, sent, expected) => {
  const request = { method: 'GET', url: 'http://x/devices', headers: fieldsOf([['Accept', 'text/html'], ...sent]) };
  const content = { text: '<!doctype html><title>Robots</title>' };
  const response = { status: 200, headers: fieldsOf([['Content-Type', 'text/html']]), content };
  const how = { creator: name, place: { base: '', isAnywhere: true } };
  expect((await judged('platform', [{ request, response }], how)).found).toEqual(expected);
});
