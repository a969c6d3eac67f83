/** Parsers of event streams: any chunks of the same bytes give the same events, and they are those of the standard. */

import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { createParser } from 'eventsource-parser';
import { SseReader } from '../../../../simulators/fleet/robot/subscriber.ts';
import { type SseComment, type SseFrame, SseParser } from '../../../client/sse-parser.ts';
import { bytesOf, pieces } from '../bytes.ts';
import { fuzzer, pure } from '../fuzzer.ts';
import { type Dispatched, dispatchedOf } from './sse-model.ts';
import { type StreamInput, streamInputs } from './sse-streams.ts';

function ours(chunks: readonly Buffer[]) {
  const frames: SseFrame[] = [];
  const comments: SseComment[] = [];
  const parser = new SseParser({ frame: (frame) => frames.push(frame), comment: (comment) => comments.push(comment) });
  for (const chunk of chunks) parser.push(chunk, 1);
  const { framing, lastEventId, unfinished, bytes } = parser;
  return { frames, comments, framing, lastEventId, unfinished, bytes };
}

const dispatchedBy = (frames: readonly SseFrame[]): Dispatched[] =>
  frames
    .filter(({ dispatched }) => dispatched)
    .map(({ lastEventId, event, data = '' }) => ({ id: lastEventId, event: event || 'message', data }));

/** The parser of the `eventsource` package. It ends a line at a carriage return only when it has seen what follows. */
function theirs(chunks: readonly Buffer[]): Dispatched[] {
  const events: Dispatched[] = [];
  let id = '';
  const parser = createParser({
    onId: (value) => {
      id = value;
    },
    onEvent: ({ event = '', data }) => events.push({ id, event: event || 'message', data }),
  });
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  for (const chunk of [...chunks, Buffer.from('\n')]) parser.feed(decoder.decode(chunk, { stream: true }));
  return events;
}

/** The reader of a fleet's robots, for the streams that simulated devices send: no lone carriage return, no byte order mark. */
function robots(chunks: readonly Buffer[]): Omit<Dispatched, 'id'>[] {
  const events: Omit<Dispatched, 'id'>[] = [];
  const reader = new SseReader({
    head: () => {},
    frame: ({ event, data }) => events.push({ event: event || 'message', data }),
  });
  reader.push(Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'));
  for (const chunk of chunks) {
    const text = Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]);
    for (const part of pieces(text, [0x3000, 0xf000])) reader.push(part);
  }
  return events;
}

function attack({ bytes: text, cuts }: StreamInput): string | undefined {
  const bytes = bytesOf(text);
  const chunks = pieces(bytes, cuts);
  const whole = ours([bytes]);
  if (!isDeepStrictEqual(ours(chunks), whole)) return 'other chunks of the same bytes give other frames';
  const single = Array.from(bytes, (byte) => Buffer.of(byte));
  if (!isDeepStrictEqual(ours(single), whole)) return 'the same bytes one by one give other frames';
  const model = dispatchedOf(bytes);
  if (!isDeepStrictEqual(dispatchedBy(whole.frames), model))
    return 'the parser dispatches other events than the standard';
  const source = dispatchedOf(Buffer.concat([bytes, Buffer.from('\n')]));
  if (!isDeepStrictEqual(theirs(chunks), source))
    return 'the parser of eventsource dispatches other events than the standard';
  if (/\r(?!\n)|^\xef\xbb\xbf/.test(text) || !isUtf8(bytes)) return undefined;
  const read = robots(chunks);
  if (
    !isDeepStrictEqual(
      read,
      model.map(({ event, data }) => ({ event, data })),
    )
  )
    return 'the reader of robots gives other events';
  return undefined;
}

export const sse = fuzzer<StreamInput>({
  name: 'sse',
  about: 'event streams in any chunks against the parsers, held to a model of the standard',
  inputs: streamInputs,
  open: () => pure(attack),
});
