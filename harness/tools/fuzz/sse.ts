/** Fuzzes all parsers of event streams, compared with a model of the WHATWG standard. */

import { isUtf8 } from 'node:buffer';
import { createServer } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { SseReader } from '../../../simulators/fleet/robot/subscriber.ts';
import { EventSourceClient } from '../../client/eventsource.ts';
import type { HttpClient } from '../../client/http.ts';
import { openEvents } from '../../client/sse.ts';
import { type SseComment, type SseFrame, SseParser } from '../../client/sse-parser.ts';
import { anyBytes, bytesOf, cuts, type Fuzzer, piecesOf, utf8, weighed, writeParts } from './fuzzer.ts';
import { attackClients } from './servers.ts';

interface Dispatched {
  id: string;
  event: string;
  data: string;
}

function dispatchedOf(bytes: Uint8Array): Dispatched[] {
  // The last line is unfinished; the decoder removes a byte order mark.
  const lines = new TextDecoder('utf-8').decode(bytes).split(/\r\n|\n|\r/);
  lines.pop();
  const events: Dispatched[] = [];
  let data = '';
  let event = '';
  let id = '';
  for (const line of lines) {
    if (line === '') {
      if (data !== '') events.push({ id, event: event || 'message', data: data.slice(0, -1) });
      data = '';
      event = '';
      continue;
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') data += `${value}\n`;
    if (name === 'event') event = value;
    if (name === 'id' && !value.includes('\0')) id = value;
  }
  return events;
}

const texts = ['é', '\u2028', '😀', '\uFEFF', 'x.y', '{"a":1}', ': heartbeat\n\n', 'id: 1\nevent: a.b\ndata: {}\n\n'];
const number = fc.oneof(fc.nat(99), fc.bigInt({ min: 0n, max: 2n ** 70n })).map(String);

const block = fc
  .record({ id: number, data: fc.string({ maxLength: 20 }), end: fc.constantFrom('\n', '\r', '\r\n') })
  .map(({ id, data, end }) =>
    utf8(['id: ', 'event: deployment.deployed', 'data: ', '', ''].join(end))
      .replace('id: ', `id: ${id}`)
      .replace('data: ', utf8(`data: ${data.replaceAll(/[\r\n]/g, '')}`)),
  );

const piece = fc.oneof(
  weighed(6, '\n¦\r¦\r\n¦\n\n¦:¦ ¦\0¦data¦id¦event¦retry¦data: ¦data:¦id: 7'),
  { weight: 2, arbitrary: fc.constantFrom(...texts.map(utf8)) },
  { weight: 2, arbitrary: block },
  { weight: 1, arbitrary: anyBytes(4) },
  { weight: 1, arbitrary: fc.nat(3000).map((length) => 'x'.repeat(length)) },
);

interface StreamInput {
  bytes: string;
  cuts: number[];
}

const streamInputs: fc.Arbitrary<StreamInput> = fc.record({
  bytes: fc
    .tuple(fc.constantFrom('', '', '', utf8('\uFEFF')), fc.array(piece, { maxLength: 60 }))
    .map(([mark, all]) => mark + all.join('')),
  cuts,
});

function ours(chunks: readonly Buffer[]) {
  const frames: SseFrame[] = [];
  const comments: SseComment[] = [];
  const parser = new SseParser({ frame: (frame) => frames.push(frame), comment: (comment) => comments.push(comment) });
  for (const chunk of chunks) parser.push(chunk, 1);
  const { invalidLines, lastEventId, unfinished, bytes } = parser;
  return { frames, comments, invalidLines, lastEventId, unfinished, bytes };
}

const eventOf = ({ lastEventId, event, data = '' }: SseFrame): Dispatched => ({
  id: lastEventId,
  event: event || 'message',
  data,
});

/** The parser of the fleet's robots supports no lone carriage return and no byte order mark. */
function robots(chunks: readonly Buffer[]): Omit<Dispatched, 'id'>[] {
  const events: Omit<Dispatched, 'id'>[] = [];
  const reader = new SseReader({
    head: () => {},
    frame: ({ event, data }) => events.push({ event: event || 'message', data }),
  });
  reader.push(Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'));
  for (const chunk of chunks) {
    const text = Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]);
    for (const part of piecesOf(text, [0x3000, 0xf000])) reader.push(part);
  }
  return events;
}

function attack({ bytes: text, cuts }: StreamInput): string | undefined {
  const bytes = bytesOf(text);
  const chunks = piecesOf(bytes, cuts);
  const whole = ours([bytes]);
  if (!isDeepStrictEqual(ours(chunks), whole)) return 'other chunks of the same bytes give other frames';
  const single = Array.from(bytes, (byte) => Buffer.of(byte));
  if (!isDeepStrictEqual(ours(single), whole)) return 'the same bytes one by one give other frames';
  const model = dispatchedOf(bytes);
  const parsed = whole.frames.filter(({ dispatched }) => dispatched).map(eventOf);
  if (!isDeepStrictEqual(parsed, model)) return 'the parser dispatches other events than the standard';
  if (/\r(?!\n)|^\xef\xbb\xbf/.test(text) || !isUtf8(bytes)) return undefined;
  const withoutIds = model.map(({ event, data }) => ({ event, data }));
  return isDeepStrictEqual(robots(chunks), withoutIds) ? undefined : 'the reader of robots gives other events';
}

export const sse: Fuzzer<StreamInput> = {
  inputs: streamInputs,
  open: async () => ({ attack, [Symbol.asyncDispose]: async () => {} }),
};

const LONGEST_MS = 20_000;
const LAST = 'the-last-event';
const MARK = '\uFEFF';

async function suite(http: HttpClient, expected: readonly Dispatched[]): Promise<string | undefined> {
  const stream = await openEvents(http);
  const events: Dispatched[] = [];
  try {
    while (events.at(-1)?.data !== LAST) {
      const frame = await stream.next({ within: LONGEST_MS, for: 'the last event' });
      if (frame.dispatched) events.push(eventOf(frame));
    }
  } finally {
    await stream.close();
  }
  return isDeepStrictEqual(events, expected) ? undefined : "the suite's stream gives other events than the standard";
}

async function client(http: HttpClient, expected: readonly Dispatched[]): Promise<string | undefined> {
  // An EventSource also dispatches its own events by these names.
  const types = new Set(expected.map(({ event }) => event));
  if (types.has('error') || types.has('open')) return undefined;
  const source = new EventSourceClient(http, { path: '/', types: [...types] });
  try {
    await source.until(({ data }) => data === LAST, { within: LONGEST_MS, for: 'the last event' });
  } finally {
    source.close();
  }
  const events = source.messages.map(({ type, lastEventId, data }) => ({ id: lastEventId, event: type, data }));
  return isDeepStrictEqual(events, expected)
    ? undefined
    : 'the client of eventsource gives other events than the standard';
}

export const streams: Fuzzer<StreamInput> = {
  inputs: streamInputs,
  open: () => {
    let chunks: Buffer[] = [];
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      void writeParts(response, chunks);
    });
    return attackClients(server, LONGEST_MS, async (http, { bytes, cuts }: StreamInput) => {
      const all = Buffer.concat([bytesOf(bytes), Buffer.from(`\n\nevent: message\ndata: ${LAST}\n\n`)]);
      chunks = piecesOf(all, cuts);
      // The package `eventsource` drops a second byte order mark.
      const unmarked = all.indexOf(MARK + MARK) === 0 ? all.subarray(Buffer.byteLength(MARK)) : all;
      return (await suite(http, dispatchedOf(all))) ?? (await client(http, dispatchedOf(unmarked)));
    });
  },
};
