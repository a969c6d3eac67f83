import { expect, test } from 'vitest';
import { trafficOfHar } from './har-traffic.ts';
import type { Traffic } from './traffic.ts';

test('an event of a HAR that is too large to be read is told as lost', () => {
  const text = `id: 1\ndata: {}\n\nid: 2\ndata: ${'x'.repeat(2 * 1024 * 1024)}\n\n`;
  const entry = {
    startedDateTime: new Date(0).toISOString(),
    request: { method: 'GET', url: 'http://robot/v0.2/events' },
    response: { status: 200, content: { mimeType: 'text/event-stream', text } },
  };
  const seen: Traffic[] = [];
  trafficOfHar({ log: { entries: [entry] } }, (each) => void seen.push(each), undefined);
  expect(seen.map(({ kind }) => kind)).toEqual(['request', 'asked', 'response', 'frame', 'lost', 'over']);
});

test('a HAR tells of each connection that it names once', () => {
  const request = { method: 'GET', url: 'http://robot/v0.2/events' };
  const entries = ['a', undefined, 'b', 'a'].map((connection, second) => {
    return { startedDateTime: new Date(1000 * second).toISOString(), connection, request, response: {} };
  });
  const opened: number[] = [];
  const take = (each: Traffic): void => void (each.kind === 'opened' && opened.push(each.at));
  trafficOfHar({ log: { entries } }, take, undefined);
  expect(opened).toEqual([0, 2000]);
});
