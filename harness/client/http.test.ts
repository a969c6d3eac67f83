import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { localhostTls } from '../common/testing/localhost-tls.ts';
import { served } from '../common/testing/servers.ts';
import { BodyTooLarge, NoAnswer, Unfinished, Unreachable } from './errors.ts';
import type { HttpClient } from './http.ts';
import { clientOf } from './testing/served.ts';

const SHORT = 40;
const PAUSE = 20;

function answering(answer: (response: ServerResponse) => void, timeoutMs = SHORT): Promise<HttpClient> {
  const server = createServer((_request, response) => answer(response.on('error', () => {})));
  return clientOf(server, { timeoutMs });
}

async function silent(): Promise<{ origin: string; ended: Promise<unknown> }> {
  const ended = Promise.withResolvers<unknown>();
  const server = createTcpServer((socket) => {
    socket.on('close', ended.resolve).resume();
  });
  return { origin: (await served(server)).url, ended: ended.promise };
}

it.each([
  ['größe', 3],
  ['plain text', 5],
])('an HTTP client sends %j in two pieces, the first of %i bytes', async (text, first) => {
  let pieces: Buffer[] = [];
  const server = createServer((request, response) => {
    pieces = [];
    request.on('data', (piece: Buffer) => pieces.push(piece)).on('end', () => response.end());
  });
  const http = await clientOf(server, { timeoutMs: 10_000 });
  const sendBody = async (): Promise<number | undefined> => {
    await http.post('/', text, { isCut: true });
    expect(Buffer.concat(pieces).toString()).toBe(text);
    return pieces[0]?.length;
  };
  // A busy server may read both pieces together.
  await expect.poll(sendBody, { timeout: 10_000 }).toBe(first);
});

it('an answer that comes piece by piece is read whole, even beyond the time limit', async () => {
  const http = await answering(async (response) => {
    for (const piece of 'a body that comes letter by letter') {
      response.write(piece);
      await delay(PAUSE);
    }
    response.end();
  }, 20 * PAUSE);
  expect((await http.get('/')).text).toBe('a body that comes letter by letter');
});

it('an answer that stops in its middle is held against the target', async () => {
  const http = await answering((response) => response.write('half'));
  const error = await http.get('/').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NoAnswer);
  expect(String(error)).toContain(`nothing more of it for ${SHORT} ms`);
  expect(http.recorder.exchanges.at(-1)).toMatchObject({ status: 200, error: expect.stringContaining('stopped') });
});

it('an answer that never ends is unfinished, and decides nothing', async () => {
  const http = await answering((response) => {
    const timer = setInterval(() => response.write('x'), 1);
    response.once('close', () => clearInterval(timer));
  }, 60);
  await expect(http.get('/')).rejects.toBeInstanceOf(Unfinished);
});

it('an answer that comes while this process is blocked counts as in time', async () => {
  const limitMs = 10 * SHORT;
  const http = await answering((response) => setTimeout(() => response.end('here'), 1), limitMs);
  const asked = http.get('/');
  await delay(1);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * limitMs);
  expect((await asked).text).toBe('here');
});

const list = Buffer.from('{"object":"list"}');
const packed = (coding: string, body: Buffer): Promise<HttpClient> =>
  answering((response) => response.setHeader('Content-Encoding', coding).end(body), 10_000);

it.each([
  ['gzip', gzipSync(list)],
  ['X-Gzip', gzipSync(list)],
  ['deflate', deflateSync(list)],
  ['br', brotliCompressSync(list)],
  ['zstd', zstdCompressSync(list)],
  ['deflate, gzip', gzipSync(deflateSync(list))],
  ['identity', list],
  ['rot13', list],
])('a packed answer in %s is read decoded, and unchanged in an unknown coding', async (coding, body) => {
  const http = await packed(coding, body);
  expect((await http.get('/')).json).toEqual({ object: 'list' });
});

it.each([
  ['gzip', 'a body that is no gzip', list],
  ['br', 'a body that is no br', list],
  ['gzip', 'a body larger than 16 MiB, once it is unpacked', gzipSync(Buffer.alloc(2 ** 24 + 1))],
  ['br', 'a body larger than 16 MiB, once it is unpacked', brotliCompressSync(Buffer.alloc(2 ** 26))],
  ['identity', 'a body larger than 16 MiB', Buffer.alloc(2 ** 25)],
  ['gzip, gzip', 'a body larger than 16 MiB, once', gzipSync(gzipSync(Buffer.alloc(2 ** 26)))],
])('a packed answer in %s is no answer, or above a limit of Muster: %s', async (coding, why, body) => {
  const error = await (await packed(coding, body)).get('/').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(why.includes('larger') ? BodyTooLarge : NoAnswer);
  expect(String(error)).toContain(why);
});

it('an unrequested answer on a kept connection is given to no request', async () => {
  const answer = (text: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
  let asked = 0;
  const server = createTlsServer(localhostTls, (socket) =>
    socket
      .on('error', () => {})
      .on('data', () => {
        asked += 1;
        socket.write(answer(`answer ${asked}`) + answer('smuggled'));
      }),
  );
  const origin = (await served(server)).url.replace('http:', 'https:');
  const http = await clientOf({ origin, ca: localhostTls.cert });
  for (let round = 1; round <= 5; round += 1) expect((await http.get('/')).text).toBe(`answer ${round}`);
});

it('an error message stays short for an address of any length', async () => {
  const http = await answering((response) => response.destroy(), 10_000);
  const error = await http.get(`/${'9'.repeat(10_000)}`).catch((thrown: unknown) => String(thrown));
  expect(error).toMatch(/^NoAnswer: GET http.*…: the connection was closed before a whole answer came$/);
  expect(String(error).length).toBeLessThan(500);
});

it('without a connection, a silent request or bare socket counts as unreachable', async () => {
  const { origin } = await silent();
  // An unanswered TLS handshake looks like a host that drops packets.
  const http = await clientOf(origin.replace('http:', 'https:'), { timeoutMs: SHORT });
  await expect(http.get('/')).rejects.toBeInstanceOf(Unreachable);
  await expect(http.connect()).rejects.toBeInstanceOf(Unreachable);
  await expect(http.connect({ timeoutMs: 1 })).rejects.toThrow('nothing came for 1 ms');
});

it('without a connection, every wait ends with its signal', async () => {
  const { origin } = await silent();
  const over = new AbortController();
  const reason = new Error('the check is over');
  const http = await clientOf(origin.replace('http:', 'https:'), { signal: over.signal });
  const waiting = [http.connect(), http.get('/'), http.open({ path: '/' })];
  over.abort(reason);
  for (const each of waiting) await expect(each).rejects.toBe(reason);
  await expect(http.connect()).rejects.toBe(reason);
});

it('a bare socket ends with the signal of its client', async () => {
  const { origin, ended } = await silent();
  const over = new AbortController();
  const http = await clientOf(origin, { signal: over.signal });
  const socket = await http.connect();
  over.abort();
  await ended;
  expect(socket.destroyed).toBe(true);
});

it('an IPv6 address is accepted in brackets', async () => {
  const http = await clientOf('http://[::1]:1');
  await expect(http.connect()).rejects.toThrow(/connection refused|EADDRNOTAVAIL|cannot connect/);
  await expect(http.connect()).rejects.not.toThrow('ENOTFOUND');
});

const MIB = 1024 * 1024;

it('a large answer waits for another to be read, and the wait does not count', async () => {
  let first = true;
  let held = 0;
  const http = await answering((response) => {
    if (!first) held += 1;
    void pieces(response, first ? 15 : 2);
    first = false;
  }, 20 * PAUSE);
  const both = await Promise.all([http.get('/'), delay(2 * PAUSE).then(() => http.get('/'))]);
  expect(both.map(({ bytes }) => bytes.length)).toEqual([15 * MIB, 2 * MIB]);
  expect(held).toBe(1);
});

async function pieces(response: ServerResponse, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += 1) {
    response.write(Buffer.alloc(MIB, 'z'));
    await delay(3 * PAUSE);
  }
  response.end();
}

const parsed = async (text: string): Promise<unknown> =>
  (await answering((r) => r.end(text), 10_000)).get('/').then(({ json }) => json);

it('JSON is parsed when it is valid, and undefined otherwise', async () => {
  expect(await parsed('{"a":[1,"]]][[[\\"[{,",{}]}')).toEqual({ a: [1, ']]][[["[{,', {}] });
  expect(await parsed('{"a":')).toBeUndefined();
  expect(await parsed('"unfinished \\')).toBeUndefined();
  expect(await parsed('')).toBeUndefined();
});

it('JSON with too many levels or values is not parsed', async () => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  expect(await parsed(nested(500))).toBeDefined();
  expect(await parsed(nested(1_000_000))).toBeUndefined();
  expect(await parsed('{"a":'.repeat(1_000_000))).toBeUndefined();
  expect(await parsed(`[${'0,'.repeat(249_000)}0]`)).toBeDefined();
  expect(await parsed(`[${'0,'.repeat(250_000)}0]`)).toBeUndefined();
  expect(await parsed(`["${'[,'.repeat(250_000)}"]`)).toBeDefined();
});

function impatient() {
  const methods: string[] = [];
  const used = new WeakSet<object>();
  const serve: RequestListener = ({ socket, method = '' }, response) => {
    if (used.has(socket)) return socket.destroy();
    methods.push(method);
    used.add(socket);
    return response.end('served');
  };
  return { serve, methods };
}

it('a connection that was used before repeats a GET when the server closes it', async () => {
  const { serve, methods } = impatient();
  const http = await clientOf(createServer(serve), { keepsAlive: true });
  for (let n = 0; n < 3; n += 1) expect((await http.get('/')).text).toBe('served');
  expect(methods).toEqual(['GET', 'GET', 'GET']);
});

it('a connection that was used before does not repeat a POST when the server closes it', async () => {
  const http = await clientOf(createServer(impatient().serve), { keepsAlive: true });
  await http.get('/');
  await expect(http.post('/', {})).rejects.toBeInstanceOf(NoAnswer);
});

it('a connection that was used before over HTTPS repeats a GET, and serves no POST', async () => {
  const { serve, methods } = impatient();
  const origin = (await served(createHttpsServer(localhostTls, serve))).url.replace('http:', 'https:');
  const http = await clientOf({ origin, ca: localhostTls.cert });
  for (let n = 0; n < 3; n += 1) {
    expect((await http.get('/')).text).toBe('served');
    // The agent can reuse the connection one turn of the event loop later.
    await new Promise(setImmediate);
  }
  expect((await http.post('/', {})).text).toBe('served');
  expect(methods).toEqual(['GET', 'GET', 'GET', 'POST']);
});
