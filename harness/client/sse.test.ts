import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createBrotliCompress, createGzip } from 'node:zlib';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { HttpClient } from './http.ts';
import { type EventStream, type OpenEvents, openEvents, StreamEnded, StreamTimeout } from './sse.ts';
import { clientOf } from './testing/served.ts';

const PATIENCE = 20_000;
const SHORT = 40;

let http: HttpClient;
let requests: { url: string; lastEventId: string | undefined }[];
let answer: (response: ServerResponse) => void;
let last: ServerResponse;

beforeEach(async () => {
  requests = [];
  answer = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? '', lastEventId: [request.headers['last-event-id']].flat()[0] });
    last = response.on('error', () => {});
    answer(response);
  });
  http = await clientOf(server, { basePath: '/v0.2' });
});

async function open(options: OpenEvents = {}): Promise<EventStream> {
  const stream = await openEvents(http, options);
  onTestFinished(() => stream.close());
  return stream;
}

async function live(): Promise<{ stream: EventStream; response: ServerResponse }> {
  return { stream: await open(), response: last };
}

const event = (id: number): string => `id: ${id}\nevent: a.b\ndata: {"id":${id}}\n\n`;
const wait = (what: string, within = PATIENCE) => ({ within, for: what });

it('requests carry cursors and types unchanged, with commas unescaped', async () => {
  await open({ after: '1e3 ', types: ['a.b', 'c d'], lastEventId: 9n });
  await open({ query: 'after=1&after=2' });
  await open();
  expect(requests).toEqual([
    { url: '/v0.2/events?after=1e3%20&types=a.b,c%20d', lastEventId: '9' },
    { url: '/v0.2/events?after=1&after=2', lastEventId: undefined },
    { url: '/v0.2/events', lastEventId: undefined },
  ]);
});

it.each([
  ['gzip', createGzip],
  ['br', createBrotliCompress],
] as const)('waits return the frames of a stream in %s as they come', async (coding, packing) => {
  const packed = packing();
  answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': coding }).flushHeaders();
    packed.pipe(response);
  };
  const stream = await open();
  for (const id of [1, 2]) {
    packed.write(event(id));
    packed.flush();
    expect((await stream.next(wait(`event ${id}`))).id).toBe(String(id));
  }
});

it('waits time out with the name of the expected event', async () => {
  const { stream, response } = await live();
  response.write(': hello\n\n');
  await stream.activity({ frames: 0, comments: 0 }, wait('a comment'));
  const error = await stream.next(wait('event 7', SHORT)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StreamTimeout);
  expect(String(error)).toContain(`waited for event 7: nothing of the kind within ${SHORT} ms (0 frames, 1 comments`);
});

it('waits end when the server ends the stream, and when the connection breaks', async () => {
  const ended = await live();
  ended.response.end(event(1));
  expect((await ended.stream.next(wait('event 1'))).id).toBe('1');
  await expect(ended.stream.next(wait('event 2'))).rejects.toBeInstanceOf(StreamEnded);
  expect(ended.stream.ended?.by).toBe('server');
  const broken = await live();
  broken.response.write('id: 1\n');
  broken.response.socket?.destroy();
  await expect(broken.stream.next(wait('event 1'))).rejects.toBeInstanceOf(StreamEnded);
  expect(broken.stream.ended?.by).toBe('error');
});

it('waits recompute the required silence after each frame', async () => {
  const { stream, response } = await live();
  setTimeout(() => response.write(event(1)), SHORT);
  const started = performance.now();
  await stream.idle(() => (stream.frames.length === 0 ? 60_000 : SHORT), { within: 60_000, for: 'quiet' });
  expect(stream.frames).toHaveLength(1);
  expect(performance.now() - started).toBeLessThan(60_000);
});

describe('a wait goes on', () => {
  const within = 400;
  const PAUSE = 20;

  async function trickle(response: ServerResponse, pieces: Iterable<string>): Promise<void> {
    for (const piece of pieces) {
      await delay(PAUSE);
      response.write(piece);
    }
  }

  it('while a frame arrives byte by byte, even beyond its limit', async () => {
    const { stream, response } = await live();
    const source = event(1);
    expect(source.length * PAUSE).toBeGreaterThan(within);
    const written = trickle(response, source);
    expect((await stream.next(wait('event 1', within))).id).toBe('1');
    await written;
  });

  it('only up to its bound on the whole wait', async () => {
    const { stream, response } = await live();
    const timer = setInterval(() => response.write('data: another line of a block that does not end\n'), 1);
    const sample = { within, atMost: SHORT, for: 'an event' };
    await expect(stream.next(sample)).rejects.toThrow(`nothing of the kind within ${SHORT} ms`);
    clearInterval(timer);
  });

  const idle = [': heartbeat\n\n', ': half a comment ', '\n', '\r\n'];
  it.each(idle)('for a frame only up to its limit while only %j comes', async (text) => {
    const { stream, response } = await live();
    const timer = setInterval(() => response.write(text), 1);
    await expect(stream.next(wait('an event', SHORT))).rejects.toBeInstanceOf(StreamTimeout);
    clearInterval(timer);
    expect(stream.bytes).toBeGreaterThan(0);
  });

  it('for activity while a comment grows, but not for empty lines', async () => {
    const { stream, response } = await live();
    const written = trickle(response, ': a heartbeat, letter by letter\n');
    await stream.activity({ frames: 0, comments: 0 }, wait('anything', within));
    await written;
    const timer = setInterval(() => response.write('\n'), 1);
    const more = stream.activity({ frames: 0, comments: 1 }, wait('more', SHORT));
    await expect(more).rejects.toBeInstanceOf(StreamTimeout);
    clearInterval(timer);
  });

  it('while this process is blocked', async () => {
    const { stream, response } = await live();
    const waiting = stream.next(wait('event 1', SHORT));
    await delay(1);
    response.write(event(1));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10 * SHORT);
    expect((await waiting).id).toBe('1');
  });
});

it('the connection is cut at any byte, and every frame before it is read', async () => {
  const source = Buffer.from(`: c\n\n${event(1)}id: 2\nevent: é.ü\ndata: {"x":"😀"}\n\n${event(3)}`);
  answer = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(source);
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: source.length }), async (bytes) => {
      const stream = await open({ cutAfterBytes: bytes });
      await stream.rest(wait('the cut'));
      expect(stream.bytes).toBe(bytes);
      expect(stream.ended?.by).toBe('cut');
      const whole = source.subarray(0, bytes).toString('latin1').split('\n\n').slice(0, -1);
      expect(stream.frames).toHaveLength(whole.filter((block) => block.includes('id: ')).length);
      await stream.close();
    }),
    { numRuns: 60 },
  );
});

it('the connection closes for good, even when closed twice', async () => {
  const { stream, response } = await live();
  const closed = new Promise((resolve) => response.once('close', resolve));
  await stream.close();
  await stream.close();
  await closed;
  await expect(stream.next(wait('anything'))).rejects.toThrow('closed by this client');
});
