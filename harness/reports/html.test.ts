import { expect, test } from 'vitest';
import type { Mark } from '../client/timeline.ts';
import { timelineOf } from './html.ts';

const marks: Mark[] = [
  { at_ms: 100, until_ms: 150, kind: 'drive', what: 'publish 2 events' },
  { at_ms: 150, until_ms: 200, kind: 'stream', what: 'GET /v0.2/events?after=1 → 200', stream: 1 },
  { at_ms: 160, kind: 'frame', what: '2 <b>', stream: 1 },
  { at_ms: 200, kind: 'end', what: 'the server ended the stream', stream: 1 },
];

test('a finding has a lane for driven actions and one for each stream', () => {
  const page = timelineOf(marks).markup;
  expect(page.match(/<div class="lane">/g)).toHaveLength(2);
  expect(page).toMatch(/driven<\/span>.*<i class="drive" style="left:0%;right:calc\(100% - 50%\)"/s);
  expect(page).toMatch(/stream 1: after=1<\/span>.*<i class="stream" style="left:50%;right:calc\(100% - 100%\)"/s);
  expect(page).toContain('<i class="frame" style="left:60%;right:calc(100% - 60%)" title="event: 2 &lt;b&gt;"></i>');
  expect(page).toMatch(/role="img" aria-label="4 marks over 100 ms: 1 × driven, 1 × stream open, 1 × event, 1 × ended/);
  expect(page).toMatch(/<time>60 ms<\/time> <span class="soft">stream 1<\/span> event: 2 &lt;b&gt;/);
});

test('a client has a lane for output and exit, and streams with their cursor', () => {
  const client: Mark[] = [
    { at_ms: 0, kind: 'restart', what: 'starts the client' },
    { at_ms: 10, kind: 'stream', what: 'GET /v0.2/events with Last-Event-ID: 7 → 200', stream: 1 },
    { at_ms: 20, kind: 'sent', what: '"id: 8\\n"', stream: 1 },
    { at_ms: 30, kind: 'end', what: 'closes the connection', stream: 1 },
    { at_ms: 40, kind: 'printed', what: '{"saw":"gap"}' },
    { at_ms: 50, kind: 'end', what: 'ended with exit code 3' },
  ];
  const page = timelineOf(client).markup;
  expect(page.match(/<div class="lane">/g)).toHaveLength(3);
  expect(page).toMatch(/stream 1: after 7<\/span>.*<i class="sent" style="left:40%/s);
  expect(page).toMatch(/client<\/span>.*<i class="printed" style="left:80%.*<i class="end" style="left:100%/s);
  expect(page).toMatch(/bytes sent: &quot;id: 8\\n&quot;/);
});

test('a timeline shows the last of many streams, and none for a single mark', () => {
  const opened = { kind: 'stream', what: 'GET /events' } as const;
  const many = Array.from({ length: 12 }, (_, index): Mark => ({ ...opened, at_ms: index, stream: index + 1 }));
  const page = timelineOf(many).markup;
  expect(page.match(/<div class="lane">/g)).toHaveLength(8);
  expect(page).toContain('the last 8 of 12 streams');
  expect(timelineOf(marks.slice(0, 1)).markup).toBe('');
});
