/** Streams that are unusual and right, as the standard of event streams allows them: their bytes, and the events in them. */
import { event, eventsFrom, frame, frames, type SentEvent } from './events.ts';

export interface OneStream {
  summary: string;
  bytes: string;
  events: readonly SentEvent[];
}

const [first, second, last] = [event(1), event(2), event(3)];
const three = [first, second, last];

const withEnds = (end: string): string => frames([first, second]).replaceAll('\n', end) + frame(last);

/** The mark stands before the first line, which is lost with it: here that is data, without which nothing is dispatched. */
const afterMark = `data: ${first.json}\nid: 1\nevent: ${first.type}\n\n${frame(second)}`;

const heartbeatsWithin = frame(second).replaceAll('\n', '\n: heartbeat\n').replace('\n: heartbeat\n\n', '\n\n');
const comments = `:\n\n: heartbeat\n\n${frame(first)}: heartbeat\n:id: 99\n:data: ${event(99).json}\n\n:id: 77\n${heartbeatsWithin}: heartbeat\n\n${frame(last)}`;

const inLines = JSON.stringify(JSON.parse(first.json), null, 2)
  .split('\n')
  .map((line) => `data: ${line}\n`);

const tight = `data:${first.json}\nevent:${first.type}\nid:1\n\n`;
const strange = `priority: 7\nnonsense\nid: 2\nDATA: no\nevent: ${second.type}\ndata: ${second.json}\ndatum: 1\n\n`;

export const STREAMS = {
  crlf: { summary: 'Lines end with CR LF.', bytes: withEnds('\r\n'), events: three },
  cr: { summary: 'Lines end with CR alone.', bytes: withEnds('\r'), events: three },
  bom: { summary: 'Begins with a byte order mark.', bytes: `\uFEFF${afterMark}`, events: eventsFrom(1, 2) },
  comments: { summary: 'Has comments between events and within one.', bytes: comments, events: three },
  empty: {
    summary: 'Has blocks without data.',
    bytes: `\n\n\nevent: deployment.removed\n\n${frame(first)}\nid: 1\n\n\n${frame(second)}`,
    events: [first, second],
  },
  'multi-line': {
    summary: 'Has an event in many data lines.',
    bytes: `id: 1\nevent: ${first.type}\n${inLines.join('')}\n${frame(second)}`,
    events: [first, second],
  },
  fields: {
    summary: 'Has fields in another order, without a space, and unknown ones.',
    bytes: tight + strange + frame(last),
    events: three,
  },
  retry: {
    summary: 'Has retry fields, also some that are no number.',
    bytes: `retry: 500\n\n${frame(first)}retry: soon\n${frame(second)}retry\n\n${frame(last)}`,
    events: three,
  },
} as const satisfies Record<string, OneStream>;
