import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Type from 'typebox';
import { describe, expect, it } from 'vitest';
import { shape } from '../../../harness/contract/shape.ts';
import { random } from '../../common/random.ts';
import { eventually } from '../../common/testing/eventually.ts';
import { ApiError, NetworkError, PlatformHttp, ProtocolError } from './http.ts';
import { ManualTime } from './testing/manual-time.ts';

const answerShape = shape('Answer', Type.Object({ ok: Type.Boolean() }));

/** A server that handles its n-th request with the n-th handler, and any later one with the last. */
async function setUp(...handlers: ((request: IncomingMessage, response: ServerResponse) => void)[]) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const handler = handlers[Math.min(requests.length, handlers.length - 1)];
    requests.push(`${request.method} ${request.url}`);
    handler?.(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const time = new ManualTime();
  const http = new PlatformHttp({ baseUrl: new URL(`http://127.0.0.1:${port}/base/`), time, random: random(1) });
  const abort = new AbortController();
  const get = () => http.json({ method: 'GET', path: '/x', headers: {}, signal: abort.signal }, answerShape);
  return {
    requests,
    time,
    abort,
    get,
    [Symbol.asyncDispose]: async () => {
      await http.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

const reset = (request: IncomingMessage) => void request.socket.resetAndDestroy();
const cut = (request: IncomingMessage, response: ServerResponse) => {
  response.writeHead(200, { 'content-length': 100 });
  response.write('{', () => request.socket.destroy());
};
const answer = (status: number, body: string) => (_: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(status).end(body);

describe('a request to the platform', () => {
  it('is answered, below the path of the base URL', async () => {
    await using http = await setUp(answer(200, '{"ok":true}'));
    expect(await http.get()).toEqual({ ok: true });
    expect(http.requests).toEqual(['GET /base/x']);
  });

  it('is tried three times more, half a second to a second apart, when the network fails', async () => {
    await using http = await setUp(reset, cut, reset, answer(200, '{"ok":true}'));
    const result = http.get();
    for (let retry = 0; retry < 3; retry++) {
      await eventually(() => expect(http.time.waiting).toHaveLength(1));
      expect(http.requests).toHaveLength(retry + 1);
      const [delay = 0] = http.time.waiting;
      expect(delay).toBeGreaterThanOrEqual(500);
      expect(delay).toBeLessThanOrEqual(1_000);
      http.time.advance(delay);
    }
    expect(await result).toEqual({ ok: true });
  });

  it('fails as a matter of the network after that', async () => {
    await using http = await setUp(reset);
    const result = http.get().catch((error: Error) => error);
    for (let retry = 0; retry < 3; retry++) {
      await eventually(() => expect(http.time.waiting).toHaveLength(1));
      http.time.advance(1_000);
    }
    expect(await result).toBeInstanceOf(NetworkError);
    expect(http.requests).toHaveLength(4);
  });

  it('is not repeated when the platform answers with an error', async () => {
    const body = JSON.stringify({ error: { code: 'nope', params: {}, message: 'not like this' } });
    await using http = await setUp(answer(409, body), answer(503, 'oops'));
    const refused = await http.get().catch((error: ApiError) => error);
    expect(refused).toMatchObject({ status: 409, code: 'nope', refused: true, unauthorized: false });
    const broken = await http.get().catch((error: ApiError) => error);
    expect(broken).toBeInstanceOf(ApiError);
    expect(broken).toMatchObject({ status: 503, code: 'unknown', refused: false });
    expect(http.requests).toHaveLength(2);
  });

  it.each(['', 'nonsense', '{"ok":"yes"}', '[]'])('fails when it is answered with %j', async (body) => {
    await using http = await setUp(answer(200, body));
    await expect(http.get()).rejects.toBeInstanceOf(ProtocolError);
  });

  it('ends with its signal: while it waits for an answer, and between retries', async () => {
    await using waiting = await setUp(() => {});
    const first = waiting.get();
    await eventually(() => expect(waiting.requests).toHaveLength(1));
    waiting.abort.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');

    await using retrying = await setUp(reset);
    const second = retrying.get();
    await eventually(() => expect(retrying.time.waiting).toHaveLength(1));
    retrying.abort.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    expect(retrying.time.waiting).toEqual([]);
  });
});
