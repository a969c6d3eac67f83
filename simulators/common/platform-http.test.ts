import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import Type from 'typebox';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { served } from '../../harness/common/testing/servers.ts';
import { shape } from '../../harness/contract/shape.ts';
import {
  ApiError,
  isTemporary,
  NetworkError,
  networkErrorMessage,
  PlatformHttp,
  ProtocolError,
} from './platform-http.ts';

const answerShape = shape('Answer', Type.Object({ ok: Type.Boolean() }));

async function setUp(handlers: ((request: IncomingMessage, response: ServerResponse) => void)[], retries = true) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const handler = handlers[Math.min(requests.length, handlers.length - 1)];
    requests.push(`${request.method} ${request.url}`);
    handler?.(request, response);
  });
  const { url } = await served(server);
  const [beforeRetry, onCrowded] = [vi.fn(async () => {}), vi.fn<() => void>()];
  const http = new PlatformHttp({
    baseUrl: new URL(`${url}/base/`),
    connections: 2,
    onCrowded,
    ...(retries && { beforeRetry }),
  });
  onTestFinished(() => http.close());
  const abort = new AbortController();
  const get = (path = '/x') => http.json({ method: 'GET', path, headers: {}, signal: abort.signal }, answerShape);
  return { requests, beforeRetry, onCrowded, abort, get };
}

const reset = (request: IncomingMessage) => void request.socket.resetAndDestroy();
const cut = (request: IncomingMessage, response: ServerResponse) => {
  response.writeHead(200, { 'content-length': 100 });
  response.write('{', () => request.socket.destroy());
};
const answer = (status: number, body: string) => (_: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(status).end(body);

const endless = (_: IncomingMessage, response: ServerResponse) => {
  const part = Buffer.alloc(2 ** 20);
  const parts = function* () {
    for (;;) yield part;
  };
  pipeline(parts, response).catch(() => {});
};

describe('a request to the platform', () => {
  it('is retried three times, each after a wait, when the network fails', async () => {
    const http = await setUp([reset, cut, reset, answer(200, '{"ok":true}')]);
    expect(await http.get()).toEqual({ ok: true });
    expect(http.requests).toHaveLength(4);
    expect(http.beforeRetry).toHaveBeenCalledTimes(3);
  });

  it.each([
    [true, 4],
    [false, 1],
  ])('fails with a network error after its last attempt (retries: %s)', async (retries, times) => {
    const http = await setUp([retries ? reset : cut], retries);
    await expect(http.get()).rejects.toBeInstanceOf(NetworkError);
    expect(http.requests).toHaveLength(times);
  });

  it('is not repeated when the platform answers with an error', async () => {
    const body = JSON.stringify({ error: { code: 'nope', params: {}, message: 'not like this' } });
    const http = await setUp([answer(409, body), answer(503, 'oops')]);
    const refused = await http.get().catch((error: ApiError) => error);
    expect(refused).toMatchObject({ status: 409, refused: true, unauthorized: false });
    expect((refused as ApiError).message).toMatch(/^HTTP 409 nope: not like this \(/);
    const broken = await http.get().catch((error: ApiError) => error);
    expect(broken).toBeInstanceOf(ApiError);
    expect(broken).toMatchObject({ status: 503, refused: false });
    expect((broken as ApiError).message).toMatch(/^HTTP 503: oops \(/);
    expect(http.requests).toHaveLength(2);
  });

  it.each([
    ['{"error":"boom"}', /^HTTP 500: \{"error":"boom"\} \(/],
    ['', /^HTTP 500: no body \(/],
    ['{"error":{"code":"x"}}', /^HTTP 500 x: \{"error":/],
    [`"${'long '.repeat(100)}"`, /^HTTP 500: .{200} \(/],
    [JSON.stringify({ error: { message: 'x'.repeat(300) } }), /^HTTP 500: x{200} \(/],
  ])('fails with the beginning of an error body of another form: %j', async (body, message) => {
    const http = await setUp([answer(500, body)]);
    await expect(http.get()).rejects.toThrow(message);
  });

  it.each(['', 'nonsense', '{"ok":"yes"}', '[]'])('fails when it is answered with %j', async (body) => {
    const http = await setUp([answer(200, body)]);
    await expect(http.get()).rejects.toBeInstanceOf(ProtocolError);
  });

  it('fails when its answer does not end', async () => {
    const http = await setUp([endless], false);
    await expect(http.get()).rejects.toThrow('GET /x: an answer above 64 MiB');
  });

  it.each([
    ['GET /x was not answered with JSON', answer(200, '')],
    ['GET /x was not answered with a Answer', answer(200, '{}')],
    ['HTTP 500: busy (GET /x)', answer(500, 'busy')],
    ['GET /x: ', reset],
  ])('fails without the query in its message, which pages of a list have in common: %s', async (words, handler) => {
    const http = await setUp([handler], false);
    const message = await http.get('/x?offset=7').catch(String);
    expect(message).toContain(words);
    expect(message).not.toContain('offset');
  });

  it('waits when all connections are in use, and calls onCrowded', async () => {
    const http = await setUp([answer(200, '{"ok":true}')]);
    await Promise.all([http.get(), http.get()]);
    expect(http.onCrowded).toHaveBeenCalledTimes(0);
    await Promise.all([http.get(), http.get(), http.get()]);
    expect(http.onCrowded).toHaveBeenCalledTimes(1);
  });

  it('ends at an abort while it waits for an answer', async () => {
    const received = Promise.withResolvers<void>();
    const http = await setUp([() => received.resolve()]);
    const request = http.get();
    await received.promise;
    http.abort.abort(new Error('enough'));
    await expect(request).rejects.toThrow('enough');
  });
});

it.each([
  [new NetworkError('gone'), true],
  [new ApiError(503, 'x', ''), true],
  [new ApiError(429, 'x', ''), true],
  [new ApiError(404, 'x', ''), false],
  [new ApiError(401, 'x', ''), false],
  [new ProtocolError('odd'), false],
])('the error %s is temporary: %s', (error, temporary) => {
  expect(isTemporary(error)).toBe(temporary);
});

it.each([
  [new Error('connect ECONNREFUSED'), 'connect ECONNREFUSED'],
  [new AggregateError([new Error('first'), new Error('second')]), 'first'],
  [Object.assign(new Error(''), { code: 'ECONNRESET' }), 'ECONNRESET'],
])('the message of %s is %j', (error, message) => {
  expect(networkErrorMessage(error)).toBe(message);
});
