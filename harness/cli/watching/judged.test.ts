import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { Pairs } from '../../common/http-parser.ts';
import type { PlainJudged } from '../../watch/judging.ts';
import type { Ended, Traffic } from '../../watch/traffic.ts';
import { eventOf, judgeOf, KEY } from '../testing/judge.ts';
import { serverRules, WATCHED_APIS, type WatchedApi, watchSuite } from './suite.ts';

interface Step {
  at: number;
  connection: number;
  target: string;
  headers?: Pairs;
  status: number;
  answered?: Pairs;
  ids?: readonly number[];
  body?: string;
  ended?: Ended;
  torn?: string;
  when?: string;
  closes?: boolean;
}

const LASTS_MS = 10;

function trafficOf(step: Step, exchange: number): Traffic[] {
  const { at, connection, target, headers = [['User-Agent', 'c']], status, ids, body, torn, closes } = step;
  const end = at + LASTS_MS;
  const answered: Pairs = step.answered ?? (ids === undefined ? [] : [['Content-Type', 'text/event-stream']]);
  return [
    { kind: 'request', at, connection, exchange, method: 'GET', target, headers },
    { kind: 'asked', at, exchange },
    { kind: 'response', at: end, exchange, status, headers: answered },
    ...(ids ?? []).map((id): Traffic => ({ kind: 'frame', at: end, exchange, fields: eventOf(id, step.when) })),
    {
      ...{ kind: 'over', at: end, exchange, ended: step.ended ?? 'whole' },
      ...(body !== undefined && { body: { text: body, size: body.length } }),
      ...(torn !== undefined && { torn }),
    },
    ...(closes === true ? [{ kind: 'closed', at: end, connection } as const] : []),
  ];
}

async function foundIn(api: WatchedApi, steps: readonly Step[]): Promise<string[]> {
  const { judge, found } = await judgeOf(api);
  for (const each of steps.flatMap(trafficOf)) judge.take(each);
  return found;
}

const busy = (at: number, connection: number, closes = false): Step => ({
  ...{ at, connection, closes, target: '/beta/devices?limit=100', headers: KEY, status: 429 },
  answered: [['Retry-After', '5']],
});

test.each([false, true])('clients that each wait after a 429 cause no finding (closing: %s)', async (closes) => {
  const moments = [0, 1000, 2000, 5100, 6200, 7300, 10_300, 11_400, 12_500];
  const steps = moments.map((at, index) => busy(at, closes ? index : index % 3, closes));
  expect(await foundIn('platform', steps)).toEqual([]);
});

test.each<[string, (index: number) => string]>([
  ['Via', () => '1.1 proxy'],
  ['Forwarded', () => 'for=10.0.0.1'],
  ['X-Forwarded-For', (index) => `10.0.0.${index % 3}`],
])('clients behind a proxy that adds %s are not judged as one client', async (name, value) => {
  const steps = Array.from({ length: 9 }, (_, index): Step => {
    return { ...busy(index * 100 + Math.floor(index / 3) * 5000, 0), headers: [...KEY, [name, value(index)]] };
  });
  expect(await foundIn('platform', steps)).toEqual([]);
});

const events = (at: number, connection: number, rest: Partial<Step> = {}, after?: number): Step => ({
  ...{ at, connection, status: 200, ended: 'server', closes: true },
  ...{ target: `/v0.2/events${after === undefined ? '' : `?after=${after}`}`, ids: [], ...rest },
});

test.each([
  [120, 7, false],
  [120, 7, true],
  [10_000, 20, true],
])('several clients with the same expired cursor cause no finding (every %i ms)', async (pause, all, closes) => {
  const expired = Array.from({ length: all }, (_, index): Step => {
    return { at: index * pause, connection: index, target: '/v0.2/events?after=5', status: 410, closes };
  });
  expect(await foundIn('device', expired)).toEqual([]);
});

test.each<[Ended, string[]]>([
  ['server', ['client.delivery.torn.watched']],
  ['unseen', []],
  ['client', []],
])('a torn event is a finding only if the server ended the stream: %s', async (ended, found) => {
  const first = events(0, 1, { ids: [4, 5], ended, torn: 'id: 6\nevent: deploy' });
  expect(await foundIn('device', [first, events(5000, 2, {}, 6)])).toEqual(found);
});

test.each(['client', 'unseen'] as const)('streams after one with the end %s cause no finding', async (ended) => {
  const later = [5000, 8000, 11_000, 14_000].map((at, index) => events(at, index + 3, {}, 9));
  const steps = [events(0, 1, { ids: [4, 5] }), events(2000, 2, { ids: [6, 7, 8, 9], ended }, 5), ...later];
  expect(await foundIn('device', steps)).toEqual([]);
});

test('an event torn on one stream causes no finding while another may be open', async () => {
  const lost = events(0, 1, { ids: [4], ended: 'unseen' });
  const torn = events(1000, 2, { ids: [5, 6, 7], torn: 'id: 8\nevent: deploy' }, 4);
  expect(await foundIn('device', [lost, torn, events(3000, 3, {}, 8)])).toEqual([]);
});

test('an idle connection that the judge lost counts as possibly open', async () => {
  const { judge, found } = await judgeOf('device');
  const health: Step = { at: 0, connection: 1, target: '/v0.2/events?after=4', status: 200 };
  const steps = [events(1000, 2, { ids: [5, 6, 7], torn: 'id: 8\nevent: deploy' }, 4), events(3000, 3, {}, 8)];
  const rest = steps.flatMap((step, index) => trafficOf(step, index + 1));
  for (const each of trafficOf(health, 0)) judge.take(each);
  judge.take({ kind: 'lost', at: 500, connection: 1, why: 'more came than could be judged in time' });
  for (const each of rest) judge.take(each);
  expect(found).toEqual([]);
});

test('a reinstalled agent may count from 1, but an agent may not change events', async () => {
  const first = events(0, 1, { ids: [1, 2], ended: 'client' });
  const anew = events(86_400_000, 2, { ids: [1], ended: 'client', when: '2026-02-02T00:00:00Z' });
  expect(await foundIn('device', [first, anew])).toEqual([]);
  const { judge, found } = await judgeOf('device');
  const again = trafficOf(events(2000, 2, { ids: [1] }), 1).map(
    (each): Traffic =>
      each.kind === 'frame' ? { ...each, fields: each.fields.map(([n, v]) => [n, v.replace('{}', '{"a":1}')]) } : each,
  );
  for (const each of [...trafficOf(first, 0), ...again]) judge.take(each);
  expect(found).toContain('device.events.replay.complete.everywhere');
});

test('a finding has no secret that spans the data lines of an event', async () => {
  const { judge } = await judgeOf('device');
  const steps = [events(0, 1, { ids: [1], ended: 'client' }), events(2000, 2, { ids: [1] })];
  for (const [index, each] of steps.flatMap(trafficOf).entries()) {
    const lines: Pairs = ['{"data":{"password":', `"s3cr3t-${index}"}}`].map((line) => ['data', line]);
    judge.take(each.kind === 'frame' ? { ...each, fields: [['id', '1'], ...lines] } : each);
  }
  const told = JSON.stringify(judge.judged());
  expect(told).toContain('event 1 as it was sent before');
  expect(told).not.toContain('s3cr3t');
});

test.each(WATCHED_APIS)('each rule of the %s names the traffic that decides it', async (api) => {
  const told = (await serverRules(api)).checks.map(({ orElse }) => orElse);
  expect(new Set(told).size).toBe(told.length);
  for (const each of told) expect(each).toMatch(/^no traffic was seen that decides it: an? /);
});

test('a watch rule has other watch rules as premises', async () => {
  const { checks } = await watchSuite('device', 'unix');
  const { premises } = checks.find(({ id }) => id === 'device.events.envelope.everywhere') ?? {};
  expect(premises).toContain('device.events.frame.everywhere');
});

const LIST = '{"object":"list","limit":10,"offset":0,"has_more":false,"data":[],"total_count":0}';
const KEYLESS = 'client.key.sent.watched';
const listPage = (at: number, limit: number, offset: number, rest = '', size = limit): Step => ({
  ...{ at, connection: 1, headers: KEY, status: 200 },
  target: `/beta/devices?limit=${limit}&offset=${offset}${rest}`,
  answered: [['Content-Type', 'application/json']],
  body: JSON.stringify({ object: 'list', limit: size, offset, has_more: true, data: [], total_count: 900 }),
});
const pagesFound = async (pages: readonly Step[]): Promise<string[]> =>
  (await foundIn('platform', pages)).filter((id) => id.startsWith('client.pages.'));

test.each<[string, readonly Step[]]>([
  [
    'with limits of their own',
    [listPage(0, 100, 0), listPage(1000, 10, 0), listPage(2000, 100, 100), listPage(3000, 10, 10)],
  ],
  [
    'one of which has got smaller pages',
    [[400, 100] as const, [0, 500] as const, [500, 100] as const].map(([offset, limit], index) =>
      listPage(index * 1000, limit, offset, '', 100),
    ),
  ],
  [
    'each of which counts twice',
    [0, 100, 0, 100, 0, 100].map((offset, index) => listPage(index * 1000, 100, offset, '&expand=total_count')),
  ],
])('several readers of a list on one connection, %s, cause no paging finding', async (_, pages) => {
  expect(await pagesFound([...pages, listPage(6000, 100, 200)])).toEqual([]);
});

test('a request needs a cookie or an API key', async () => {
  const asks = (headers: Pairs): Step => ({
    ...{ at: 0, connection: 1, target: '/beta/devices', status: 200, headers, body: LIST },
    answered: [['Content-Type', 'application/json']],
  });
  expect(await foundIn('platform', [asks([['Cookie', '***']])])).not.toContain(KEYLESS);
  expect(await foundIn('platform', [asks([['User-Agent', 'x']])])).toContain(KEYLESS);
});

test('a missing key on a shared connection counts only for the same client', async () => {
  const asks = (at: number, headers: Pairs): Step => ({
    ...{ at, connection: 1, target: '/beta/devices', headers, status: 401 },
  });
  const withKey = asks(0, KEY);
  expect(await foundIn('platform', [withKey, asks(1000, [['User-Agent', 'other']])])).toEqual([]);
  expect(await foundIn('platform', [withKey, asks(1000, [['User-Agent', 'sdk/1']])])).toEqual([KEYLESS]);
});

test.each([
  ['a word', 'deployments', 401, []],
  ['a part of addresses, refused', 'rel_7a9c2f1b', 401, []],
  ['a key that was let in', 'rel_7a9c2f1b', 200, ['client.key.address.watched']],
])('a key in an address counts only if the platform accepted it before: %s', async (_, key, status, found) => {
  const asks = (at: number, agent: string, own: string, target: string, answer: number): Step => ({
    ...{ at, connection: at, target, status: answer },
    headers: [
      ['User-Agent', agent],
      ['X-API-Key', own],
      ['Service-Version', '2026-08-17.everglades'],
    ],
  });
  const steps = [
    asks(0, 'a', key, '/beta/devices', status),
    asks(1000, 'b', 'goodkey-123456', '/beta/deployments?x=rel_7a9c2f1b', 404),
  ];
  const { judge, found: all } = await judgeOf('platform');
  for (const each of steps.flatMap(trafficOf)) judge.take(each);
  expect(all.filter((id) => id.startsWith('client.'))).toEqual(found);
  if (key === 'deployments') expect(judge.redactor.text('3 deployments')).toBe('3 deployments');
});

test('the judge counts unread streams and failed connections', async () => {
  const { judge } = await judgeOf('device');
  const packed: Pairs = [
    ['Content-Type', 'text/event-stream'],
    ['Content-Encoding', 'gzip'],
  ];
  const steps = [
    { at: 0, connection: 1, target: '/v0.2/events', status: 200, answered: packed, body: 'id: 1' },
    { at: 0, connection: 2, target: '/v0.2/deployments/current', status: 200, body: `[${'0,'.repeat(300_000)}0]` },
  ];
  for (const each of steps.flatMap(trafficOf)) judge.take(each);
  judge.take({ kind: 'refused', at: 1, connection: 2, why: `connect ECONNREFUSED ${'x'.repeat(1000)}` });
  expect(judge.seen.unread).toEqual({ 'an event stream in a content coding is not read': 1, 'too large': 1 });
  const [[why = '', times] = []] = Object.entries(judge.seen.lost);
  expect(why).toMatch(/^no connection to the server: connect ECONNREFUSED x+/);
  expect(why.length).toBeLessThan(300);
  expect(times).toBe(1);
});

test('the judge counts events of the API alone, and no blocks without data', async () => {
  const { judge } = await judgeOf('device');
  const steps = ['/v0.2/events', '/updates'].map((target, connection) =>
    events(0, connection, { target, ids: [1, 2] }),
  );
  for (const each of steps.flatMap(trafficOf)) judge.take(each);
  const [request] = trafficOf(events(50, 3), 3);
  if (request !== undefined) judge.take(request);
  judge.take({ kind: 'frame', at: 60, exchange: 3, fields: [['retry', '1000']] });
  expect(judge.seen.events).toBe(2);
});

test('a finding about a request is reported before its answer', async () => {
  const { judge, outcomes } = await judgeOf('platform');
  const headers: Pairs = [['Service-Version', '2026-08-17.everglades']];
  const step = { at: 0, connection: 1, target: '/beta/devices', headers, status: 401 };
  for (const each of trafficOf(step, 1)) judge.take(each);
  const askedIn = (judged?: PlainJudged): unknown => judged?.broken?.seen.at(-1)?.asked;
  const [before, after] = [outcomes, judge.judged()].map((of) => askedIn(of['client.key.sent.watched']));
  expect(before).toMatchObject({ error: 'not answered yet' });
  expect(after).toMatchObject({ status: 401 });
  expect(after).not.toHaveProperty('error');
});

test.each(['Service-Version', 'Miru-Version'])('a finding names the header that the client sent: %s', async (name) => {
  const { judge } = await judgeOf('platform');
  const step: Step = {
    ...{ at: 0, connection: 1, target: '/beta/devices', status: 200, body: LIST },
    headers: [...KEY.slice(0, 2), [name, 'newest']],
    answered: [['Content-Type', 'application/json']],
  };
  for (const each of trafficOf(step, 1)) judge.take(each);
  const { finding } = judge.judged()['client.version.sent.watched']?.broken ?? {};
  expect(finding?.actual).toBe(`${name}: newest`);
});

test('the judge frees the memory of refused requests', async () => {
  const { judge } = await judgeOf('platform');
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < 400; index += 1) {
    const headers: Pairs = [['User-Agent', `${index} ${'a'.repeat(250_000)}`]];
    const step = { at: index, connection: index, target: '/beta/devices', headers, status: 401 };
    for (const each of trafficOf(step, index)) judge.take(each);
  }
  collect();
  expect(Object.keys(judge.seen.unread)).toEqual([]);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
});
