import { expect, test } from 'vitest';
import type { Happening, RequestSeen } from '../../../harness/client/happening.ts';
import { SseParser } from '../../../harness/client/sse-parser.ts';
import { TrafficRedactor } from '../../../harness/common/traffic-redactor.ts';
import { History } from '../../../harness/runner/rules.ts';
import { shownRequest } from '../../watched.ts';
import { type TransportKind, watchedRules } from './index.ts';

const asked = { method: 'GET', url: 'http://x/', duration_ms: 0, curl: 'curl' };

const KEYED = { 'x-api-key': 'key', 'service-version': '2026-03-09.tetons' };

type Fields = Record<string, string>;
type End = { ended?: 'whole' | 'server' | 'client'; headers?: Fields; torn?: string };

class Watch {
  readonly #checks;
  readonly #history;
  at = 0;
  connection: { open: boolean } | undefined;

  constructor(api: 'device' | 'platform', way: TransportKind = 'url') {
    this.#checks = watchedRules(api, way);
    this.#history = new History(this.#checks);
  }

  #tell(happening: Happening): void {
    this.#history.of('traffic')(happening);
  }

  ask(target: string, after = 0, headers: Fields = {}, client = 'c', method = 'GET', body = ''): RequestSeen {
    this.at += after;
    const path = target.split('?', 1)[0] ?? '';
    const connection = this.connection ?? { open: false };
    const request = { method, target, path, headers, body, connection, client, at: this.at };
    this.#tell({ kind: 'asked', asked, request });
    return request;
  }

  events(request: RequestSeen, ...ids: number[]): void {
    const parser = new SseParser({
      frame: (frame) => this.#tell({ kind: 'frame', asked, stream: request, frame, request }),
      comment: () => {},
    });
    for (const id of ids) parser.push(Buffer.from(`id: ${id}\nevent: a.b\ndata: {}\n\n`), 0);
  }

  over(request: RequestSeen, status?: number, { ended = 'whole', headers = {}, torn }: End = {}): void {
    const over = { ended, at: this.at, headers };
    this.#tell({
      ...{ kind: 'over', asked, request },
      over: { ...over, ...(status !== undefined && { status }), ...(torn !== undefined && { torn }) },
    });
  }

  page(path: string, limit: number, offset: number): void {
    const target = `${path}?limit=${limit}&offset=${offset}`;
    const request = this.ask(target, 100, KEYED);
    const json = { object: 'list', limit, offset, has_more: true, data: [] };
    const answer = { status: 200, headers: {}, text: JSON.stringify(json), json };
    this.#tell({ kind: 'answer', asked, path: target, answer, request });
    this.over(request, 200);
  }

  expected(id: string): string {
    return this.#history.judged(id).broken?.finding.expected ?? '';
  }

  get found(): string[] {
    return this.#checks.filter(({ id }) => this.#history.judged(id).broken !== undefined).map(({ id }) => id);
  }
}

const EVENTS = '/v0.2/events';

function comesBack(cursor: (last: number) => string, { client = 'c', ended = 'server', pause = 500 } = {}): string[] {
  const watch = new Watch('device');
  let last = 0;
  let target = EVENTS;
  for (let round = 0; round < 14; round += 1) {
    const request = watch.ask(target, pause, {}, client);
    watch.events(request, last + 1, last + 2, last + 3);
    last += 3;
    watch.over(request, 200, { ended: ended as 'server' });
    target = `${EVENTS}${cursor(last)}`;
  }
  return watch.found;
}

test.each<[string, (last: number) => string, string[]]>([
  ['with its last event', (last) => `?after=${last}`, []],
  ['with the one before, with which it is not done yet', (last) => `?after=${last - 1}`, []],
  ['without a cursor', () => '', ['client.delivery.cursor.watched']],
  ['with one beyond its last event', (last) => `?after=${last + 2}`, ['client.delivery.cursor.watched']],
  ['with the same one all the time', () => '?after=1', ['client.delivery.cursor.watched']],
])('a client that returns to the stream %s', (_, cursor, found) => expect(comesBack(cursor)).toEqual(found));

test('a client that returns to the stream needs no cursor after it has ended the stream itself', () => {
  expect(comesBack(() => '', { ended: 'client' })).toEqual([]);
});

test.each([3_600_000, 15_000])('a client needs no cursor after %d ms, like a new client or a slow reader', (pause) => {
  expect(comesBack(() => '', { pause })).toEqual([]);
  expect(comesBack(() => '?after=1', { pause })).toEqual([]);
});

test('several similar clients are kept apart', () => {
  const watch = new Watch('device');
  let [one, other] = [watch.ask(EVENTS), watch.ask(EVENTS, 1)];
  for (let round = 0; round < 40; round += 1) {
    watch.events(one, round + 1);
    watch.over(one, 200, { ended: 'server' });
    watch.over(other, undefined, { ended: 'server' });
    [one, other] = [watch.ask(EVENTS, 1), watch.ask(EVENTS, 1)];
  }
  expect(watch.found).toEqual([]);
});

function refused(api: 'device' | 'platform', target: string, status: number | undefined, pause: number): string[] {
  const watch = new Watch(api);
  for (let round = 0; round < 60; round += 1)
    watch.over(watch.ask(target, pause), status, status === undefined ? { ended: 'server' } : {});
  return watch.found;
}

test.each<['device' | 'platform', string, number | undefined, string]>([
  ['device', EVENTS, undefined, 'client.back-off.hammering.watched'],
  ['device', EVENTS, 401, 'client.back-off.refused.watched'],
  ['device', EVENTS, 410, 'client.expired.no-loop.watched'],
  ['platform', '/beta/devices', 429, 'client.busy.hammering.watched'],
  ['platform', '/beta/devices', 404, 'client.errors.endless.watched'],
])('a refused client of a %s %s with %s is found unless it waits', (api, target, status, id) => {
  expect(refused(api, target, status, 10)).toEqual([id]);
  expect(refused(api, target, status, 250)).toEqual([]);
});

test('a refused client may ask for different objects without a pause', () => {
  const watch = new Watch('platform');
  for (let round = 0; round < 60; round += 1) watch.over(watch.ask(`/beta/devices/${round}`, 1), 404);
  expect(watch.found).toEqual([]);
});

test.each<[string, (round: number) => string, string[]]>([
  ['one object after the other', (round) => `{"name":"robot ${round}"}`, []],
  ['objects that differ in what is masked', () => '{"name":"robot","token":"***"}', []],
  ['the same object', () => '{"name":"robot"}', ['client.errors.endless.watched']],
])('a refused client writes %s on one connection', (_, bodyOf, found) => {
  const watch = new Watch('platform');
  watch.connection = { open: true };
  for (let round = 0; round < 60; round += 1)
    watch.over(watch.ask('/beta/devices', 1, KEYED, 'c', 'POST', bodyOf(round)), 400);
  expect(watch.found).toEqual(found);
});

test.each([
  ['1500', 1600, []],
  ['2', 500, ['client.busy.retry-after.watched']],
  ['2', 2100, []],
  ['Thu, 26 Nov 2026 10:00:05 GMT', 1000, ['client.busy.retry-after.watched']],
  ['Thu, 26 Nov 2026 10:00:05 GMT', 4500, []],
])('a refused client with Retry-After: %s returns after %d ms', (after, pause, found) => {
  const watch = new Watch('platform');
  watch.connection = { open: true };
  const isLong = after === '1500';
  const headers = { 'retry-after': isLong ? '1.5' : after, date: 'Thu, 26 Nov 2026 10:00:00 GMT' };
  for (let round = 0; round < 4; round += 1) watch.over(watch.ask('/beta/devices', pause), 503, { headers });
  expect(watch.found).toEqual(found);
});

test('a missing token is found in a client that keeps asking, not a probe, and is told without a secret', () => {
  const watch = new Watch('device', 'loopback');
  for (const found of [[], [], ['client.loopback.token.watched']]) {
    watch.over(watch.ask(EVENTS, 1000), 401);
    expect(watch.found).toEqual(found);
  }
  const expected = watch.expected('client.loopback.token.watched');
  expect(expected).toContain('token');
  expect(new TrafficRedactor().text(expected)).toBe(expected);
});

test('a probe without a token every few minutes is no client that keeps asking', () => {
  const watch = new Watch('device', 'loopback');
  for (let probe = 0; probe < 5; probe += 1) watch.over(watch.ask(EVENTS, 300_000), 401);
  expect(watch.found).toEqual([]);
});

test('a missing key is judged only in a refused request that knows the API', () => {
  const watch = new Watch('platform');
  watch.over(watch.ask('/beta/devices', 0, {}, 'stranger'), 401);
  watch.over(watch.ask('/beta/devices', 0, { authorization: 'Bearer x', 'service-version': '2026-03-09.tetons' }), 200);
  expect(watch.found).toEqual([]);
  watch.over(watch.ask('/beta/devices', 0, { 'service-version': '2026-03-09.tetons' }), 401);
  expect(watch.found).toEqual(['client.key.sent.watched']);
});

test('a browser asks without its key whether it may send the key', () => {
  const watch = new Watch('platform');
  watch.connection = { open: true };
  const browser = { 'user-agent': 'Mozilla' };
  watch.over(watch.ask('/beta/devices', 0, { ...KEYED, ...browser }), 200);
  watch.over(watch.ask('/beta/devices', 500, browser, 'c', 'OPTIONS'), 204);
  expect(watch.found).toEqual([]);
  watch.over(watch.ask('/beta/devices', 500, browser), 401);
  expect(watch.found).toEqual(['client.key.sent.watched']);
});

test('a request is shown without the token in its address', () => {
  const request = new Watch('platform').ask('/beta/devices?access_token=a"b&limit=1');
  expect(shownRequest(request)).toContain('GET /beta/devices?access_token=***&limit=1');
});

interface Turn {
  cursor: string | undefined;
  ids?: readonly number[];
  types?: string;
  torn?: string;
}

const filtered = (last: number): Turn[] => [
  { cursor: `${last}`, ids: [last + 1] },
  { cursor: '5', types: 'deployment.removed' },
];
const ahead = [1, 4, 8, 12, 16].map((last): Turn => ({ cursor: `${last}`, ids: [last + 1] }));
const begin = [5, 6, 7, 8, 9, 10].map((id): Turn => ({ cursor: undefined, ids: [id] }));
const torn: Turn = { cursor: '6', ids: [7], torn: 'id: 8\n' };
test.each<[string, Turn[]]>([
  ['one has a filter', [10, 11, 12, 13, 14, 15].flatMap(filtered)],
  ['each is ahead of the one before', [{ cursor: '1', ids: [2, 20] }, ...ahead]],
  ['one had a cursor and others begin', [{ cursor: '3', ids: [4] }, ...begin]],
  ['one received whole an event torn for another', [{ cursor: '6', ids: [7, 8] }, torn, { cursor: '8' }]],
])('clients with own cursors that take turns on the stream cause no finding when %s', (_, turns) => {
  const watch = new Watch('device');
  for (const { cursor, ids = [], types, torn } of turns) {
    const query = new URLSearchParams({ ...(cursor && { after: cursor }), ...(types && { types }) }).toString();
    const request = watch.ask(`${EVENTS}${query === '' ? '' : `?${query}`}`, 500);
    watch.events(request, ...ids);
    watch.over(request, 200, { ended: 'server', ...(torn !== undefined && { torn }) });
  }
  expect(watch.found).toEqual([]);
});

test('refused clients that take turns are not found hammering', () => {
  const watch = new Watch('device');
  for (let round = 0; round < 90; round += 1) watch.over(watch.ask(EVENTS, 70), 401);
  expect(watch.found).toEqual([]);
});

test.each([
  ['half a page apart', [0, 5, 10, 15, 20, 25]],
  ['of which one is behind', [20, 0, 29, 9, 38, 47, 56]],
])('clients that take turns in one list, %s, cause no finding', (_, offsets) => {
  const watch = new Watch('platform');
  for (const offset of offsets) watch.page('/beta/devices', 10, offset);
  expect(watch.found).toEqual([]);
});
