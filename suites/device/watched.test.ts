import { expect, test } from 'vitest';
import type { Happening, RequestSeen } from '../../harness/client/happening.ts';
import { SseParser } from '../../harness/client/sse-parser.ts';
import { History } from '../../harness/runner/rules.ts';
import { deviceSuite } from './index.ts';
import { watchedRules } from './watched.ts';

const asking = (
  target: string,
  rest: Partial<RequestSeen> = {},
): Pick<Happening, 'asked'> & { request: RequestSeen } => {
  const path = target.split('?', 1)[0] ?? '';
  const place = { method: 'GET', target, path, headers: {}, connection: { open: true }, client: 'c' };
  const request = { ...place, body: '', at: 0, ...rest };
  return { asked: { method: request.method, url: `http://x${target}`, duration_ms: 0, curl: 'curl' }, request };
};

interface Stream {
  at: number;
  query?: string;
  header?: string;
  ids: readonly number[];
  day?: number;
  comes?: number;
  length?: number;
}

function isFound(streams: readonly Stream[], id = 'device.events.replay.exclusive.watched'): boolean {
  const history = new History([...watchedRules, ...deviceSuite.checks]);
  const tell = history.of('traffic');
  for (const { at, query = '', header, ids, day = 1, comes = at + 10, length = 0 } of streams) {
    const headers: Record<string, string> = header === undefined ? {} : { 'last-event-id': header };
    const asked = asking(`/v0.2/events${query}`, { headers, at });
    const parser = new SseParser({
      frame: (frame) => tell({ kind: 'frame', ...asked, stream: asked.request, frame }),
      comment: () => {},
    });
    for (const id of ids) {
      const when = `2026-01-0${day}T00:00:00Z`;
      const data = { object: 'event', id, type: 'a.b', occurred_at: when, data: { x: 'x'.repeat(length) } };
      parser.push(Buffer.from(`id: ${id}\nevent: a.b\ndata: ${JSON.stringify(data)}\n\n`), comes);
    }
  }
  const { broken, fault } = history.judged(id);
  expect(fault).toBeUndefined();
  return broken !== undefined;
}

const SOON = 500;
const LATER = 5000;
const FIRST: Stream = { at: 0, ids: [4, 5] };
const AGAIN: Stream = { at: LATER, query: '?after=5', ids: [5] };
const JUST: Stream = { ...AGAIN, at: SOON };

test.each<[string, Stream[], boolean]>([
  ['repeats the event of after', [FIRST, AGAIN], true],
  ['repeats the event of Last-Event-ID', [FIRST, { at: LATER, header: '5', ids: [5, 6] }], true],
  ['repeats the event of a cursor written with zeros', [FIRST, { ...AGAIN, query: '?after=005' }], true],
  ['goes by after, which takes precedence', [FIRST, { ...AGAIN, query: '?after=4', header: '5' }], false],
  ['has an empty cursor', [FIRST, { ...AGAIN, query: '?after=', header: '5' }], false],
  ['has two cursors', [FIRST, { ...AGAIN, query: '?after=5&after=4' }], false],
  ['is of a log that counts from 1 again', [FIRST, { ...AGAIN, day: 2 }], false],
  ['begins with an event that was not there before', [AGAIN], false],
  ['begins with what came elsewhere only later', [FIRST, AGAIN].map((it) => ({ ...it, comes: 2 * LATER })), false],
  ['begins with an event that has just come', [FIRST, JUST], false],
  ['begins with what has just come, to several clients cut off at once', [FIRST, JUST, { ...JUST, at: 600 }], false],
  [
    'begins with an event that has just come, and the next with another',
    [FIRST, ...[4, 5].map((id): Stream => ({ at: SOON, query: `?after=${id}`, ids: [id] }))],
    true,
  ],
  ['repeats the event so late that it may be live', [FIRST, { ...AGAIN, comes: 9000 }], false],
  ['is of another log without a clock', [FIRST, { ...AGAIN, length: 9 }], false],
  ['repeats an event too long to be remembered', [FIRST, AGAIN].map((it) => ({ ...it, length: 3000 })), false],
  ['repeats the event later on a stream, since delivery is at-least-once', [FIRST, { ...AGAIN, ids: [6, 5] }], false],
])('a replay %s', (_, streams, found) => expect(isFound(streams)).toBe(found));

const MANY = Array.from({ length: 2500 }, (_, at) => at + 1);

test.each([
  ['rise', [5, 7, 8], false],
  ['repeat a stretch, since delivery is at-least-once', [5, 6, 7, 6, 7, 8], false],
  ['go back to a new one', [5, 7, 6], true],
  ['repeat all from an event on that is forgotten by now', [...MANY, ...MANY], false],
  ['go back to a new one after many', [...MANY.filter((id) => id !== 2400), 2400], true],
])('the ids of a stream %s', (_, ids, found) => {
  expect(isFound([{ at: 0, ids }], 'device.events.monotonic.everywhere')).toBe(found);
});

test.each([
  ['?types=a.b', false],
  ['?types=c.d,A.B', false],
  ['?types=%63.d', true],
  ['?types=c.d', true],
  ['?types=', false],
  ['?types=a.*', false],
  ['?types=c.d&types=a.b', false],
  ['', false],
])('an event a.b on a stream with the query %j is of another type: %j', (query, found) => {
  expect(isFound([{ at: 0, query, ids: [5] }], 'device.events.types.everywhere')).toBe(found);
});

const EVENT = 'id: 5\nevent: a.b\ndata: {"object":"event"}\n\n';

interface Typed {
  type?: string;
  text?: string;
  status?: number;
  method?: string;
  target?: string;
  isCut?: boolean;
}

function judged({ type, text = EVENT, status = 200, method = 'GET', target = '/v0.2/events', isCut = false }: Typed) {
  const history = new History(watchedRules);
  const tell = history.of('traffic');
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
  const asked = asking(target, { method });
  if (!isCut)
    tell({ kind: 'answer', ...asked, path: asked.request.path, answer: { status, headers, text, json: undefined } });
  const rest = isCut ? ({ ended: 'client', began: text } as const) : ({ ended: 'whole' } as const);
  tell({ kind: 'over', ...asked, over: { at: 10, status, headers, ...rest } });
  const { broken, fault, sightings } = history.judged('device.events.content-type.watched');
  expect(fault).toBeUndefined();
  return broken !== undefined ? 'broken' : sightings > 0 ? 'holds' : 'undecided';
}

const JSON_TYPE = 'application/json';

test.each<[string, Typed, ReturnType<typeof judged>]>([
  ['is wrong', { type: JSON_TYPE }, 'broken'],
  ['is wrong on a stream that its client left', { type: JSON_TYPE, isCut: true }, 'broken'],
  ['is missing', {}, 'broken'],
  ['is wrong for heartbeats', { type: 'text/plain', text: ': heartbeat\n' }, 'broken'],
  ['is wrong below the path of a gateway', { type: JSON_TYPE, target: '/robots/7/v0.2/events?after=4' }, 'broken'],
  ['is right', { type: 'text/event-stream' }, 'holds'],
  ['is right on a stream that brought nothing', { type: 'text/event-stream', text: '', isCut: true }, 'holds'],
  ['is written in another way', { type: 'Text/Event-Stream;charset=utf-8' }, 'holds'],
  ['is named after another one', { type: 'text/plain, text/event-stream' }, 'holds'],
  ['is not judged for a page', { type: 'text/html', text: '<p>Log in: <a href="/">here</a>\n\n' }, 'undecided'],
  ['is not judged for an error with 200', { type: JSON_TYPE, text: '{"error":"no upstream"}' }, 'undecided'],
  ['is not judged for a text', { type: 'text/plain', text: 'event: none\ndata: none\n\n: nothing\n' }, 'undecided'],
  ['is not judged where nothing came', { type: JSON_TYPE, text: '', isCut: true }, 'undecided'],
  ['is not judged where an event is not whole', { type: JSON_TYPE, text: EVENT.slice(0, -2) }, 'undecided'],
  ['is not judged for HEAD', { type: JSON_TYPE, method: 'HEAD' }, 'undecided'],
  ['is not judged for an answer that a proxy has changed', { type: JSON_TYPE, status: 203 }, 'undecided'],
  ['is not judged for another version', { type: JSON_TYPE, target: '/v0.3/events' }, 'undecided'],
  ['is not judged for another path', { type: JSON_TYPE, target: '/v0.2/robots/events' }, 'undecided'],
])('the content type of events %s', (_, typed, outcome) => expect(judged(typed)).toBe(outcome));
