import { createServer, type ServerResponse } from 'node:http';
import { createGzip } from 'node:zlib';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { poll } from '../common/waiting.ts';
import { EventSourceClient, type OpenClient } from './eventsource.ts';
import type { HttpClient } from './http.ts';
import { StreamTimeout } from './sse.ts';
import { clientOf } from './testing/served.ts';

const within = 20_000;
const STREAM = { 'content-type': 'text/event-stream' };
let http: HttpClient;
let streams: ServerResponse[];
let answer: (response: ServerResponse) => void;

beforeEach(async () => {
  streams = [];
  answer = (response) => response.writeHead(200, STREAM).flushHeaders();
  const server = createServer((_request, response) => {
    streams.push(response);
    answer(response);
  });
  http = await clientOf(server, { basePath: '/v0.2' });
});

const connect = (options: Partial<OpenClient> = {}, over = http): EventSourceClient => {
  const client = new EventSourceClient(over, { path: '/events', types: [], ...options });
  onTestFinished(() => client.close());
  return client;
};

async function cutAndBack(): Promise<void> {
  const free = connect({ types: ['a.b'] });
  await free.until(({ connection }) => connection === 1, { within, for: 'its first event' });
  await free.cut();
  await free.until(({ connection }) => connection === 2, { within, for: 'its second event' });
  free.close();
}

it('an EventSource client reads typed events, and reconnects with the last id', async () => {
  answer = (response) => {
    const id = streams.length;
    response.writeHead(200, STREAM).write(`: hi\n\nid: ${id}\nevent: a.b\ndata: x${id}\n\n`);
  };
  const client = connect({ types: ['a.b'], lastEventId: '0' });
  const { cursors, errors } = client;
  await client.until(({ data }) => data === 'x1', { within, for: 'x1' });
  await client.cut(async () => {
    await poll('the client to see the cut', () => errors.length || undefined, { timeoutMs: within });
    await cutAndBack();
    expect(cursors).toEqual(['0']);
  });
  await client.until(({ data }) => data === 'x4', { within, for: 'x4' });
  expect(client.messages).toEqual([
    { type: 'a.b', lastEventId: '1', data: 'x1', connection: 1 },
    { type: 'a.b', lastEventId: '4', data: 'x4', connection: 2 },
  ]);
  expect(client.cursors).toEqual(['0', '1']);
});

it('an EventSource client reconnects soon, whatever retry the server asks for', async () => {
  answer = (response) => response.writeHead(200, STREAM).write('retry: 60000\nid: 1\nevent: a.b\ndata: x\n\nid: 2');
  await cutAndBack();
  expect(streams).toHaveLength(2);
});

it('an EventSource client reads a compressed stream', async () => {
  answer = (response) => {
    const gzip = createGzip();
    gzip.pipe(response.writeHead(200, { ...STREAM, 'content-encoding': 'gzip' }));
    gzip.write('id: 1\ndata: x1\n\n');
    gzip.flush();
  };
  expect(await connect().until(() => true, { within, for: 'x1' })).toMatchObject({ lastEventId: '1', data: 'x1' });
});

it('an EventSource client gives up on an answer that is no event stream', async () => {
  answer = (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  const client = connect();
  const error = await client.until(() => true, { within, for: 'an event' }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StreamTimeout);
  expect(String(error)).toContain('the client gave up');
  expect(client.closed).toBe(true);
});

it('an EventSource client ends with the signal of its HTTP client, and never reconnects', async () => {
  const over = new AbortController();
  const client = connect({ reconnectMs: 1 }, http.with({ signal: over.signal }));
  await poll('the client to connect', () => streams.length || undefined, { timeoutMs: within });
  const gone = new Promise((resolve) => streams[0]?.once('close', resolve));
  const waiting = client.until(() => true, { within, for: 'an event' });
  over.abort();
  await expect(waiting).rejects.toThrow('the client gave up');
  await gone;
  expect(client.closed).toBe(true);
  const late = connect({}, http.with({ signal: over.signal }));
  await expect(late.until(() => true, { within, for: 'an event' })).rejects.toThrow('the client gave up');
  expect(streams).toHaveLength(1);
});
