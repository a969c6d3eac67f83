import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { socketsRead } from '../common/waiting.ts';
import { socatAddress } from './connection.ts';
import { Unfinished } from './errors.ts';
import { exchange, type RawExchange, type RawResponse, requestText } from './raw.ts';
import { clientOf, pouring, talking } from './testing/served.ts';

const within = 20_000;
const SHORT = 40;

const inWords = ({ status, body }: RawResponse): string => `${status} ${body.toString()}`;

it('a raw exchange reads pipelined answers in order, in any framing', async () => {
  const http = await talking((socket) =>
    socket.write(
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab' +
        'HTTP/1.1 100 Continue\r\n\r\n' +
        'HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n' +
        'HTTP/1.1 204 No Content\r\n\r\n' +
        'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n',
    ),
  );
  const methods = ['GET', 'GET', 'GET', 'HEAD'];
  const { responses, end } = await exchange(http, ['x'], { within, answers: 4, methods });
  expect(end).toBe('answered');
  expect(responses.map(inWords)).toEqual(['200 ab', '404 xyz', '204 ', '200 ']);
});

it('a raw exchange reads an answer without length until the connection closes', async () => {
  const http = await talking((socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nall of it'));
  const { responses } = await exchange(http, ['x'], { within });
  expect(responses[0]?.body.toString()).toBe('all of it');
});

it.each([
  ['HTTP/1.0', '', true],
  ['HTTP/1.0', 'Connection: Keep-Alive\r\n', false],
  ['HTTP/1.1', '', false],
  ['HTTP/1.1', 'Connection: close\r\n', true],
])('an answer in %s with "%s" tells whether the connection closes', async (version, header, closes) => {
  const http = await talking((socket) => socket.end(`${version} 200 OK\r\n${header}Content-Length: 1\r\n\r\na`));
  const { responses } = await exchange(http, ['x'], { within });
  expect(responses[0]?.closes).toBe(closes);
});

it('a raw exchange stops reading an answer once its status is refused', async () => {
  const http = await talking((socket) => {
    socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    const drip = setInterval(() => socket.write('1\r\n:\r\n'), 1);
    socket.on('error', () => {}).once('close', () => clearInterval(drip));
  });
  const accepts = (status: number): boolean => status >= 400;
  const { responses, end } = await exchange(http, ['x'], { within, accepts });
  expect(end).toBe('refused');
  expect(responses).toMatchObject([{ status: 200, headers: { 'transfer-encoding': 'chunked' } }]);
});

it('a raw exchange tells hanging up from silence, and keeps a partial answer', async () => {
  const hangsUp = await talking((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab'));
  const closed = await exchange(hangsUp, ['x'], { within });
  expect(closed).toMatchObject({ end: 'closed', responses: [] });
  expect(closed.rest.toString()).toContain('ab');
  const silent = await talking(() => {});
  expect(await exchange(silent, ['x'], { within: SHORT })).toMatchObject({ end: 'timeout', responses: [] });
});

it('a raw exchange sends a request in pieces, and records a repeating line', async () => {
  const http = await clientOf(
    createServer((request, response) => response.end(`${request.method} ${request.headers.authorization}`)),
    { headers: { authorization: 'Bearer sesame-open' } },
  );
  http.recorder.redactor.add('sesame-open');
  const text = requestText(http, { target: '/v0.2/x', headers: ['Connection: close'] });
  const { responses } = await exchange(http, [...text], { within });
  expect(responses[0]?.body.toString()).toBe('GET Bearer sesame-open');
  const recorded = http.recorder.exchanges.at(-1);
  expect(recorded?.curl).toMatch(
    /^printf 'GET \/v0\.2\/x HTTP\/1\.1\\r\\n.*' \| socat -t 20 -T 20 - TCP:127\.0\.0\.1:\d+$/,
  );
  expect(recorded?.curl).not.toContain('sesame-open');
});

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab';
const gone = (socket: Socket | undefined): Promise<unknown> =>
  socket === undefined || socket.closed ? Promise.resolve() : new Promise((resolve) => socket.once('close', resolve));

it.each([
  ['was answered', ANSWER, within, { status: 200 }],
  ['got nothing in time', '', SHORT, { error: 'no answer in time' }],
])('the record of an exchange says that it %s, also after its connection closes', async (_, said, patience, record) => {
  let socket: Socket | undefined;
  const http = await talking((one) => {
    socket = one;
    one.write(said);
  });
  await exchange(http, ['x'], { within: patience });
  await gone(socket);
  await socketsRead();
  const { status, error } = http.recorder.exchanges.at(-1) ?? {};
  expect({ status, error }).toEqual({ status: undefined, error: undefined, ...record });
});

it('the record of an exchange says that it was interrupted, not that the server hung up', async () => {
  const http = await talking((socket) => socket.write('HTTP/1.1 200 OK\r\n'));
  const over = new AbortController();
  const reason = new Error('the run is over');
  const running = exchange(http.with({ signal: over.signal }), ['x'], { within });
  over.abort(reason);
  await expect(running).rejects.toBe(reason);
  expect(http.recorder.exchanges.at(-1)?.error).toBe('the run is over');
});

it('the record of an exchange holds a comment in place of a command line that is too long', async () => {
  const http = await talking((socket) => socket.write(ANSWER));
  await exchange(http, ['x'.repeat(10_000)], { within });
  const { curl = '', request_body = '' } = http.recorder.exchanges.at(-1) ?? {};
  expect(curl).toMatch(/^# too long for a command line: a raw request of 10000 bytes to http:\/\/127\.0\.0\.1:\d+$/);
  expect(request_body.length).toBeLessThan(5000);
});

const chunked = (body: string): string => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}`;
const ended = async (body: string): Promise<RawExchange> => {
  const http = await talking((socket) => socket.write(chunked(body)));
  return exchange(http, ['x'], { within: SHORT, answers: 2, methods: ['GET', 'GET'] });
};

it('the framing by chunks ends after their trailers, where the next answer begins', async () => {
  const first = '3;name=value\r\nabc\r\n0\r\nX-Check: 1\r\nX-More: 2\r\n\r\n';
  const { end, responses } = await ended(first + chunked('0\r\n\r\n'));
  expect(end).toBe('answered');
  expect(responses.map(inWords)).toEqual(['200 abc', '200 ']);
});

it.each([
  ['a negative size', '-5\r\nabcde\r\n0\r\n\r\n'],
  ['no size', '\r\nabc\r\n0\r\n\r\n'],
  ['a size with other text', '3x\r\nabc\r\n0\r\n\r\n'],
  ['a size in another notation', '0x3\r\nabc\r\n0\r\n\r\n'],
  ['a size that no number holds', `${'f'.repeat(20)}\r\nabc`],
  ['more than its size', '3\r\nabcd\r\n0\r\n\r\n'],
  ['a size without end', '1'.repeat(5000)],
])('the framing by chunks with %s is malformed', async (_, body) => {
  expect(await ended(body)).toMatchObject({ end: 'malformed', responses: [] });
});

it('the framing by incomplete chunks is awaited until the timeout', async () => {
  for (const body of ['5\r\nab', '5\r\nabcde', '5\r\nabcde\r\n0\r\nX: 1\r\n', '5'])
    expect(await ended(body)).toMatchObject({ end: 'timeout', responses: [] });
});

it.each(['-1', '1e3', '0x10', '5, 5', ''])('the framing by a length of %j is malformed', async (length) => {
  const http = await talking((socket) => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\nabcde`));
  expect(await exchange(http, ['x'], { within: SHORT })).toMatchObject({ end: 'malformed' });
});

it.each([
  ['head', 'HTTP/1.1 200 OK\r\n', `X-Pad: ${'x'.repeat(8000)}\r\n`],
  ['body', 'HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(8000)],
  ['line of a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1'.repeat(8000)],
  ['trailer', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n', `X-Pad: ${'x'.repeat(8000)}\r\n`],
])('an answer without end in its %s is cut off at a memory bound', async (_, begin, piece) => {
  const { end, rest } = await exchange(await pouring(begin, () => piece), ['x'], { within });
  expect(end).toBe('malformed');
  expect(rest.length).toBeLessThanOrEqual(4 * 1024 * 1024);
});

it('an answer without end that comes byte by byte is unfinished, and decides nothing', async () => {
  const http = await talking((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const timer = setInterval(() => socket.write('x'), 1);
    socket.once('close', () => clearInterval(timer));
  });
  await expect(exchange(http, ['x'], { within: 50 })).rejects.toBeInstanceOf(Unfinished);
});

it('a socat address uses TLS for https, with the right port', () => {
  expect(socatAddress({ origin: 'https://robot' })).toBe('OPENSSL:robot:443');
  expect(socatAddress({ origin: 'https://robot:8443', caFile: 'ca.pem' })).toBe('OPENSSL:robot:8443,cafile=ca.pem');
  expect(socatAddress({ origin: 'http://[::1]' })).toBe('TCP:[::1]:80');
  expect(socatAddress({ origin: 'http://localhost', socketPath: '/a.sock' })).toBe('UNIX-CONNECT:/a.sock');
});

it('a raw exchange is recorded with its method, URL and answer', async () => {
  const http = await talking((socket) =>
    socket.end('HTTP/1.1 404 No\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\nab'),
  );
  await exchange(http, [requestText(http, { target: '/v0.2/x?after=7' })], { within });
  await exchange(http, ['GET / / HTTP/9'], { within });
  const { origin } = http.endpoint;
  const answer = { status: 404, response_headers: { 'content-type': 'a/b' }, response_body: 'ab', raw: true };
  expect(http.recorder.exchanges).toMatchObject([
    { method: 'GET', url: `${origin}/v0.2/x?after=7`, ...answer },
    { method: 'RAW', url: origin, ...answer },
  ]);
});
