/** What the rules of a device make of replays, where they could be wrong about a correct one. */
import { expect, test } from 'vitest';
import { SseParser } from '../../harness/client/sse-parser.ts';
import { History } from '../../harness/runner/rules.ts';
import { watchedRules } from './watched.ts';

interface Stream {
  at: number;
  query?: string;
  header?: string;
  /** Ids of its events, with the day of each, from `comes` on. */
  events: readonly [id: number, day: number][];
  comes?: number;
  /** Characters of the data of each. */
  length?: number;
}

function isFound(streams: readonly Stream[]): boolean {
  const history = new History(watchedRules);
  const tell = history.of('traffic');
  for (const { at, query = '', header, events, comes = at + 10, length = 0 } of streams) {
    const target = `/v0.2/events${query}`;
    const headers: Record<string, string> = header === undefined ? {} : { 'last-event-id': header };
    const place = { method: 'GET', target, path: '/v0.2/events', headers, connection: { open: true }, client: 'c' };
    const request = { ...place, body: '', at };
    const asked = { method: 'GET', url: `http://x${target}`, duration_ms: 0, curl: 'curl' };
    const parser = new SseParser({
      frame: (frame) => tell({ kind: 'frame', asked, stream: request, frame, request }),
      comment: () => {},
    });
    for (const [id, day] of events) {
      const when = `2026-01-0${day}T00:00:00Z`;
      const data = { object: 'event', id, type: 'a.b', occurred_at: when, data: { x: 'x'.repeat(length) } };
      parser.push(Buffer.from(`id: ${id}\nevent: a.b\ndata: ${JSON.stringify(data)}\n\n`), comes);
    }
  }
  const { broken, fault } = history.judged('device.events.replay.exclusive.watched');
  expect(fault).toBeUndefined();
  return broken !== undefined;
}

/** Events 4 and 5 come on the first stream. */
const FIRST: Stream = {
  at: 0,
  events: [
    [4, 1],
    [5, 1],
  ],
};
const SOON = 500;
const LATER = 5000;

test.each<[string, Stream[], boolean]>([
  ['the event of after again', [FIRST, { at: LATER, query: '?after=5', events: [[5, 1]] }], true],
  [
    'the event of Last-Event-ID again',
    [
      FIRST,
      {
        at: LATER,
        header: '5',
        events: [
          [5, 1],
          [6, 1],
        ],
      },
    ],
    true,
  ],
  ['the same, written with zeros', [FIRST, { at: LATER, query: '?after=005', events: [[5, 1]] }], true],
  ['after takes precedence', [FIRST, { at: LATER, query: '?after=4', header: '5', events: [[5, 1]] }], false],
  [
    'the event after it',
    [
      FIRST,
      {
        at: LATER,
        query: '?after=4',
        events: [
          [5, 1],
          [6, 1],
        ],
      },
    ],
    false,
  ],
  [
    'no cursor',
    [
      FIRST,
      {
        at: LATER,
        events: [
          [4, 1],
          [5, 1],
        ],
      },
    ],
    false,
  ],
  ['a cursor that is none', [FIRST, { at: LATER, query: '?after=', header: '5', events: [[5, 1]] }], false],
  ['two cursors', [FIRST, { at: LATER, query: '?after=5&after=4', events: [[5, 1]] }], false],
  ['of a log that counts from 1 again', [FIRST, { at: LATER, query: '?after=5', events: [[5, 2]] }], false],
  ['of an event that was not there yet', [{ at: LATER, query: '?after=5', events: [[5, 1]] }], false],
  [
    'of an event that came elsewhere only after that',
    [
      { ...FIRST, comes: 2 * LATER },
      { at: LATER, query: '?after=5', events: [[5, 1]], comes: 2 * LATER },
    ],
    false,
  ],
  ['live as well, where it has just come', [FIRST, { at: SOON, query: '?after=5', events: [[5, 1]] }], false],
  [
    'just come, to several who were cut off at once',
    [FIRST, ...[SOON, SOON + 100].map((at): Stream => ({ at, query: '?after=5', events: [[5, 1]] }))],
    false,
  ],
  [
    'just come, one and then another',
    [FIRST, ...[4, 5].map((id): Stream => ({ at: SOON, query: `?after=${id}`, events: [[id, 1]] }))],
    true,
  ],
  ['live again, some time later', [FIRST, { at: LATER, query: '?after=5', events: [[5, 1]], comes: 9000 }], false],
  ['of another log without a clock', [FIRST, { at: LATER, query: '?after=5', events: [[5, 1]], length: 9 }], false],
  [
    'too long to be remembered',
    [
      { ...FIRST, length: 3000 },
      { at: LATER, query: '?after=5', events: [[5, 1]], length: 3000 },
    ],
    false,
  ],
  [
    'later on the stream, since delivery is at-least-once',
    [
      FIRST,
      {
        at: LATER,
        query: '?after=5',
        events: [
          [6, 1],
          [5, 1],
        ],
      },
    ],
    false,
  ],
])('%s', (_, streams, found) => expect(isFound(streams)).toBe(found));
