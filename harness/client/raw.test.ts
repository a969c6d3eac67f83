import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { HttpClient } from './http.ts';
import { exchange, requestText } from './raw.ts';

const within = 20_000;
const SHORT = 40;
const servers: { close(done: () => void): unknown }[] = [];
const clients: HttpClient[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await Promise.all(servers.splice(0).map((server) => new Promise<void>((resolve) => server.close(resolve))));
});

async function against(server: Server): Promise<HttpClient> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = new HttpClient({
    endpoint: { origin: `http://127.0.0.1:${port}` },
    headers: { authorization: 'Bearer sesame-open' },
  });
  client.recorder.redactor.add('sesame-open');
  clients.push(client);
  return client;
}

const talking = (say: (socket: Socket) => void): Promise<HttpClient> =>
  against(
    createServer((socket) => {
      socket.on('error', () => {}).resume();
      say(socket);
    }),
  );

it('reads pipelined answers in order, whatever their framing', async () => {
  const http = await talking((socket) =>
    socket.write(
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab' +
        'HTTP/1.1 100 Continue\r\n\r\n' +
        'HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n' +
        'HTTP/1.1 204 No Content\r\n\r\n' +
        'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n',
    ),
  );
  const { responses, end } = await exchange(http, ['x'], {
    within,
    answers: 4,
    methods: ['GET', 'GET', 'GET', 'HEAD'],
  });
  expect(end).toBe('answered');
  expect(responses.map(({ status, body }) => [status, body.toString()])).toEqual([
    [200, 'ab'],
    [404, 'xyz'],
    [204, ''],
    [200, ''],
  ]);
});

it('reads an answer without length when the connection closes', async () => {
  const http = await talking((socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nall of it'));
  const { responses } = await exchange(http, ['x'], { within });
  expect(responses[0]?.body.toString()).toBe('all of it');
});

it('tells hanging up from silence, and keeps what came of an answer', async () => {
  const hangsUp = await talking((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab'));
  const closed = await exchange(hangsUp, ['x'], { within });
  expect(closed).toMatchObject({ end: 'closed', responses: [] });
  expect(closed.rest.toString()).toContain('ab');
  const silent = await talking(() => {});
  expect(await exchange(silent, ['x'], { within: SHORT })).toMatchObject({ end: 'timeout', responses: [] });
});

it('sends a request in pieces to a real server, and leaves a line that sends it again', async () => {
  const http = await against(
    createHttpServer((request, response) => response.end(`${request.method} ${request.headers.authorization}`)),
  );
  const text = requestText(http, { target: '/v0.2/x', headers: ['Connection: close'] });
  const { responses } = await exchange(http, [...text], { within });
  expect(responses[0]?.body.toString()).toBe('GET Bearer sesame-open');
  const recorded = http.recorder.exchanges.at(-1);
  expect(recorded?.curl).toMatch(/^printf 'GET \/v0\.2\/x HTTP\/1\.1\\r\\n.*' \| socat - TCP:127\.0\.0\.1:\d+$/);
  expect(recorded?.curl).not.toContain('sesame-open');
});
