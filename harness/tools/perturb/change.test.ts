import { expect, it } from 'vitest';
import { changeMember, changePage } from './change.ts';
import { blockOf, changedStreamRequest, Frames } from './device.ts';
import type { Exchange, Trace } from './forward.ts';
import { isOpen, type Kind, kindsOf, type Perturbation } from './perturbation.ts';
import { changedRequest } from './platform.ts';

const RECORD = {
  id: 'a_1',
  status: 'queued',
  error: 'none',
  at: '2026-11-01T00:30:00.5Z',
  n: 7,
  on: true,
  in: { x: ['y'] },
};

it.each<[Kind, string[], unknown]>([
  ['dropped', ['n'], undefined],
  ['null', ['in', 'x'], null],
  ['retyped', ['n'], '7'],
  ['retyped', ['id'], ['a_1']],
  ['retyped', ['in'], '{"x":["y"]}'],
  ['altered', ['n'], 8],
  ['altered', ['on'], false],
  ['altered', ['id'], 'a_a'],
  ['altered', ['status'], 'deployed'],
  ['altered', ['error'], 'retrying'],
  ['altered', ['in', 'x'], []],
  ['shifted', ['at'], '2026-11-01T23:30:00.5Z'],
  ['shifted', ['id'], 'a_1'],
  ['foreign', ['id'], 'a_2'],
])('a member: %s %j', (kind, path, expected) => {
  const record = structuredClone(RECORD);
  changeMember(record, path, kind, kind === 'foreign' ? 'a_2' : undefined);
  const [name = '', inner] = path;
  const value = (record as Record<string, unknown>)[name];
  expect(inner === undefined ? value : (value as Record<string, unknown>)[inner]).toEqual(expected);
  expect({ ...record, [name]: 0 }).toEqual({ ...RECORD, [name]: 0 });
});

it.each<[Kind, string, string]>([
  ['item-lost', 'bcd', 'abc'],
  ['item-doubled', 'aabcd', 'abcdd'],
  ['item-repeated', 'aacd', 'abcc'],
  ['items-swapped', 'bacd', 'abdc'],
])('%s applies at either end of a page', (kind, first, last) => {
  for (const item of ['first', 'last'] as const) {
    const page = [...'abcd'];
    changePage(page, kind, item);
    expect(page.join('')).toBe(item === 'first' ? first : last);
  }
});

const AWKWARD = 'a\u2028data: b $& \n: c';
const event = (id: number, minute: number, type = 'deployment.removed'): string => {
  const occurred_at = new Date(Date.UTC(2026, 0, 1) + 60_000 * minute).toISOString();
  return blockOf({
    id: String(id),
    event: type,
    envelope: { object: 'event', id, type, occurred_at, data: { deployment_id: `d${id}`, text: AWKWARD } },
  });
};
/** Three replayed events, two live events and two heartbeats. */
const STREAM = [
  event(1, 0),
  event(2, 1),
  event(3, 2),
  event(4, 1e7),
  ': heartbeat',
  event(5, 1e7, 'deployment.deployed'),
  ': heartbeat',
];

function streamed(it: Pick<Perturbation, 'kind'> & Partial<Perturbation>): [string, string] {
  let [text, letters] = ['', ''];
  const given = { api: 'device', seed: 0, server: '', cell: {}, ...it } as const;
  const trace: Trace = (letter) => (letters += letter);
  const frames = new Frames(given, (piece) => (text += piece), trace);
  const bytes = `${STREAM.join('\n\n')}\n\n`;
  for (let from = 0; from < bytes.length; from += 50) frames.take(bytes.slice(from, from + 50));
  frames.end();
  return [text, letters];
}

/** Digits: events of `STREAM`; `.`: a heartbeat; `=`: the block `own`. */
const sent = (blocks: string, own = ''): string => {
  const named: Readonly<Record<string, string | undefined>> = { '.': ': heartbeat', '5': STREAM[5], '=': own };
  return [...blocks].map((each) => `${named[each] ?? STREAM[Number(each) - 1]}\n\n`).join('');
};
const [, SECOND, , , , FIFTH] = STREAM as [string, string, string, string, string, string];

it.each<[Kind, Perturbation['cell'], string, string?, string[]?]>([
  ['lost', { phase: 'replay', place: 1 }, '234.5.'],
  ['lost', { phase: 'replay', place: 'last' }, '124.5.'],
  ['doubled', { phase: 'live', place: 1 }, '12344.5.'],
  ['late', { phase: 'live', place: 1 }, '123.45.'],
  ['reordered', { phase: 'replay', place: 1 }, '2134.5.'],
  ['lost', { type: 'deployment.deployed' }, '1234..'],
  ['heartbeat-lost', {}, '1234.5'],
  ['id-dropped', { phase: 'live', place: 2 }, '1234.=.', FIFTH.replace('id: 5\n', '')],
  ['id-altered', { phase: 'live', place: 2 }, '1234.=.', FIFTH.replace('id: 5\n', 'id: 6\n')],
  ['foreign', { phase: 'replay', place: 2 }, '1=34.5.', SECOND.replace('d2', 'd1'), ['data', 'deployment_id']],
])('stream: %s, %j', (kind, cell, blocks, own, path) => {
  const [text, letters] = streamed({ kind, cell, path });
  expect(text).toBe(sent(blocks, own));
  expect(letters.replaceAll('v', '')).toMatch(/^a+$/);
});

it.each(kindsOf('stream', 'json').filter(isOpen))('stream: %s keeps the meaning', (kind) => {
  const [text] = streamed({ kind });
  const events = text
    .replaceAll('\r\n', '\n')
    .split('\n\n')
    .flatMap((block) => {
      const data = block
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5))
        .join('\n');
      return data === '' ? [] : [JSON.parse(data.replaceAll('+00:00', 'Z'))];
    });
  const ids = [1, 2, 3, 4, 5];
  expect(events).toMatchObject(ids.map((id) => ({ id, data: { deployment_id: `d${id}`, text: AWKWARD } })));
  expect(kind === 'whitespace' ? [] : [text]).not.toContain(sent('1234.5.'));
});

const asked = (method: string, url: string, headers: string[] = [], body = ''): Exchange => ({
  method,
  url,
  headers,
  body: Buffer.from(body),
  connection: 'new',
});
const changed = (kind: Kind, value: string, exchange: Exchange): Exchange => {
  const it_ = { api: 'device', seed: 0, server: '', kind, value, cell: {} } as const;
  return exchange.url.startsWith('/v0.2') ? changedStreamRequest(it_, exchange) : changedRequest(it_, exchange);
};

it('a request loses or changes the named query, header or body member', () => {
  const headers = ['X-API-Key', 'limited', 'Service-Version', '1'];
  const list = asked('GET', '/beta/devices?limit=3&expand=total_count,group&limit=4', headers);
  expect(changed('query-lost', 'limit', list).url).toBe('/beta/devices?expand=total_count,group');
  expect(changed('query-lost', 'expand.total_count', list).url).toBe('/beta/devices?limit=3&expand=group&limit=4');
  expect(changed('query-lost', 'offset', list)).toBe(list);
  expect(changed('let-through', 'key', list).headers).toEqual(['Service-Version', '1', 'x-api-key', 'full']);
  expect(changed('other-version', '2', list).headers).toEqual(['X-API-Key', 'limited', 'service-version', '2']);
  const write = asked('PATCH', '/beta/groups/1', [], '{"name":"a","parent_id":null}');
  expect(changed('body-lost', 'parent_id', write).body.toString()).toBe('{"name":"a"}');
  const stream = asked('GET', '/v0.2/events?after=10&types=a.b%2Cc.d', ['Last-Event-ID', '9']);
  expect(changed('query-lost', 'after', stream).url).toBe('/v0.2/events?types=a.b%2Cc.d');
  expect(changed('header-lost', '', stream).headers).toEqual([]);
  expect(changed('cursor-inclusive', '', stream).url).toBe('/v0.2/events?after=9&types=a.b%2Cc.d');
  expect(changed('types-cut', '', stream).url).toBe('/v0.2/events?after=10&types=a.b');
});
