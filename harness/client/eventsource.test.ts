import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { poll } from '../common/waiting.ts';
import { EventSourceClient } from './eventsource.ts';
import { HttpClient } from './http.ts';
import { StreamTimeout } from './sse.ts';

const within = 20_000;
let folder: string;
let server: Server;
let http: HttpClient;
let client: EventSourceClient | undefined;
let streams: ServerResponse[];
let answer: (response: ServerResponse) => void;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-client-'));
  streams = [];
  answer = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  server = createServer((_request, response) => {
    streams.push(response);
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(join(folder, 'agent.sock'), resolve));
  http = new HttpClient({
    endpoint: { origin: 'http://localhost', socketPath: join(folder, 'agent.sock') },
    basePath: '/v0.2',
  });
});

afterEach(async () => {
  client?.close();
  await http.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

/** Cuts a client that nothing holds back: when it is there again, one that was cut before it would be, too. */
async function cutAndBack(): Promise<void> {
  const free = new EventSourceClient(http, { path: '/events', types: ['a.b'] });
  await free.until(({ connection }) => connection === 1, { within, for: 'its first event' });
  await free.cut();
  await free.until(({ connection }) => connection === 2, { within, for: 'its second event' });
  free.close();
}

it('gets typed events over a unix socket, and comes back with the last id after a cut', async () => {
  answer = (response) => {
    const id = streams.length;
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .write(`: hi\n\nid: ${id}\nevent: a.b\ndata: x${id}\n\n`);
  };
  client = new EventSourceClient(http, { path: '/events', types: ['a.b'] });
  const { cursors, errors } = client;
  await client.until(({ data }) => data === 'x1', { within, for: 'x1' });
  await client.cut(async () => {
    await poll('the client to see the cut', () => errors.length || undefined, { timeoutMs: within });
    await cutAndBack();
    expect(cursors).toEqual([undefined]);
  });
  await client.until(({ data }) => data === 'x4', { within, for: 'x4' });
  expect(client.messages).toEqual([
    { type: 'a.b', lastEventId: '1', data: 'x1', connection: 1 },
    { type: 'a.b', lastEventId: '4', data: 'x4', connection: 2 },
  ]);
  expect(client.cursors).toEqual([undefined, '1']);
});

it('takes a byte order mark where the standard allows one', async () => {
  answer = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).write('\uFEFFdata: x\n\n');
  client = new EventSourceClient(http, { path: '/events', types: [] });
  expect(await client.until(() => true, { within, for: 'x' })).toMatchObject({ type: 'message', data: 'x' });
});

it('gives up on what is no event stream, and says so', async () => {
  answer = (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  client = new EventSourceClient(http, { path: '/events', types: [] });
  const error = await client.until(() => true, { within, for: 'an event' }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StreamTimeout);
  expect(String(error)).toContain('the client gave up');
  expect(client.closed).toBe(true);
});

it('ends with the signal of its HTTP client, and does not come back', async () => {
  const over = new AbortController();
  client = new EventSourceClient(http.with({ signal: over.signal }), { path: '/events', types: [], reconnectMs: 1 });
  await poll('the client to connect', () => streams.length || undefined, { timeoutMs: within });
  const gone = new Promise((resolve) => streams[0]?.once('close', resolve));
  const waiting = client.until(() => true, { within, for: 'an event' });
  over.abort();
  await expect(waiting).rejects.toThrow('the client gave up');
  await gone;
  expect(client.closed).toBe(true);
  const late = new EventSourceClient(http.with({ signal: over.signal }), { path: '/events', types: [] });
  await expect(late.until(() => true, { within, for: 'an event' })).rejects.toThrow('the client gave up');
  expect(streams).toHaveLength(1);
});
