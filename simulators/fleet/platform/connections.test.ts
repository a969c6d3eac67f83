import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { served } from '../../../harness/common/testing/servers.ts';
import { poll } from '../../../harness/common/waiting.ts';
import { type Answer, type ExchangeOptions, exchange } from '../../common/platform-http.ts';
import { Connections } from './connections.ts';

const wire = (text: string): string => text.replaceAll('\n', '\r\n');
const OK = wire('HTTP/1.1 200 OK\nContent-Length: 2\n\nok');

function connectionsTo(origin: string, { most = 1, timeoutMs = 60_000 }) {
  const [onOpened, onCrowded] = [vi.fn<() => void>(), vi.fn<() => void>()];
  const sent: string[] = [];
  const connections = new Connections({ origin, most, timeoutMs, onOpened, onCrowded });
  onTestFinished(() => connections.destroy());
  const ask = ({ path = '/devices?limit=1', ...more }: Partial<ExchangeOptions> = {}): Promise<Answer> =>
    exchange(connections, { method: 'GET', path, headers: {}, body: null, onSent: () => sent.push(path), ...more });
  return { connections, onOpened, onCrowded, sent, ask };
}

async function answeredWith(answer: (socket: Socket) => unknown, options: { most?: number; timeoutMs?: number } = {}) {
  const requests: string[] = [];
  const server = createServer((socket) => {
    socket.on('data', (bytes) => {
      requests.push(bytes.toString('latin1'));
      answer(socket);
    });
  });
  const { port, url, sockets } = await served(server);
  return { requests, sockets, host: `127.0.0.1:${port}`, ...connectionsTo(url, options) };
}

/** Connections to a server that answers only when `answer` is called. */
async function silent(most: number) {
  const asked: Socket[] = [];
  const answer = (): void => {
    for (const socket of asked.splice(0)) socket.write(OK);
  };
  return { asked, answer, ...(await answeredWith((socket) => asked.push(socket), { most })) };
}

const until = (what: string, done: () => boolean) =>
  poll(what, () => done() || undefined, { timeoutMs: 20_000, firstPauseMs: 2 });
const isOpen = (socket: Socket): boolean => !socket.destroyed && !socket.readableEnded;
const paths = (count: number, name = 'r'): string[] => Array.from({ length: count }, (_, at) => `/${name}${at}`);
const textOf = ({ status, bytes }: Answer): string => `${status} ${Buffer.from(bytes).toString()}`;

it('a load generator sends without waiting, opens connections ahead of need, and closes unused ones', async () => {
  const { connections, sockets, asked, answer, sent, onCrowded, ask } = await silent(1000);
  const first = ask();
  await until('more connections than requests', () => sockets.size > 1 && asked.length === 1);
  const all = paths(60).map((path) => ask({ path }));
  await until('all requests', () => asked.length === 61);
  expect(new Set(asked).size).toBe(61);
  expect(sent).toHaveLength(61);
  expect(onCrowded).toHaveBeenCalledTimes(0);
  answer();
  expect(new Set((await Promise.all([first, ...all])).map(textOf))).toEqual(new Set(['200 ok']));
  await until('the spare connections', () => sockets.size > 64);
  await connections.destroy();
  await until('the end of all connections', () => ![...sockets].some(isOpen));
});

it('a load generator reports each waiting request, and counts it as sent only afterwards', async () => {
  const { sockets, asked, answer, sent, onOpened, onCrowded, ask } = await silent(4);
  const all = paths(10).map((path) => ask({ path }));
  await until('four requests', () => asked.length === 4);
  expect(onCrowded).toHaveBeenCalledTimes(6);
  expect(sent).toEqual(paths(4));
  const answering = setInterval(answer, 1);
  await Promise.all(all).finally(() => clearInterval(answering));
  expect(sent).toEqual(paths(10));
  expect([sockets.size, onOpened.mock.calls.length]).toEqual([4, 4]);
});

it('a load generator queues patient requests behind others, without reporting them', async () => {
  const { asked, answer, sent, onCrowded, ask } = await silent(2);
  const burst = paths(6, 'burst').map((path) => ask({ path, patient: true }));
  await until('two requests', () => asked.length === 2);
  expect(onCrowded).toHaveBeenCalledTimes(0);
  const due = ask({ path: '/due' });
  const answering = setInterval(answer, 1);
  await Promise.all([...burst, due]).finally(() => clearInterval(answering));
  expect(sent.indexOf('/due')).toBeLessThanOrEqual(3);
  expect(onCrowded).toHaveBeenCalledTimes(1);
});

it('a load generator opens a new connection when the server closes one', async () => {
  const { sockets, asked, answer, ask } = await silent(1);
  const lost = ask();
  await until('the request', () => asked.length === 1);
  const next = ask();
  for (const socket of sockets) socket.destroy();
  asked.length = 0;
  await expect(lost).rejects.toThrow();
  await until('the next request', () => asked.length === 1);
  answer();
  expect(textOf(await next)).toBe('200 ok');
});

it('a load generator ends waiting requests when its connections are closed, and refuses later ones', async () => {
  const { connections, asked, ask } = await silent(1);
  const all = paths(3).map((path) => ask({ path }));
  await until('a request', () => asked.length === 1);
  const ends = Promise.allSettled(all);
  await connections.destroy();
  expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  await expect(ask()).rejects.toThrow('the connections were closed');
});

it('a request is one line, its fields and its body', async () => {
  const { ask, requests, host } = await answeredWith((socket) => socket.write(OK));
  expect((await ask({ headers: { 'x-api-key': 'key' } })).headers['content-length']).toBe('2');
  await ask({ method: 'POST', path: '/releases', body: '{"version":"ä"}' });
  const common = `host: ${host}\nconnection: keep-alive\n`;
  expect(requests).toEqual([
    wire(`GET /devices?limit=1 HTTP/1.1\n${common}x-api-key: key\n\n`),
    wire(`POST /releases HTTP/1.1\n${common}content-length: 16\n\n`) +
      Buffer.from('{"version":"ä"}').toString('latin1'),
  ]);
});

it.each<[string, Partial<ExchangeOptions>]>([
  ['a path with a space', { path: '/a b' }],
  ['a path with a line end', { path: '/a\r\nx: y' }],
  ['a field with a line end', { headers: { 'x-api-key': 'a\r\nb: c' } }],
  ['a field without a name', { headers: { '': 'a' } }],
])('a request with %s is refused, and the next is sent', async (_, wrong) => {
  const { ask, requests } = await answeredWith((socket) => socket.write(OK));
  await expect(ask(wrong)).rejects.toThrow();
  expect(textOf(await ask())).toBe('200 ok');
  expect(requests).toHaveLength(1);
});

it('a request cuts its connection when aborted, and the next one uses another', async () => {
  const { ask, sockets } = await answeredWith((socket) => sockets.size > 1 && socket.write(OK));
  const over = new AbortController();
  const asking = ask({ signal: over.signal, onSent: () => setImmediate(() => over.abort(new Error('enough'))) });
  await expect(asking).rejects.toThrow('enough');
  expect(textOf(await ask())).toBe('200 ok');
  expect(sockets.size).toBe(2);
});

it('a request fails when no byte comes in time, even after a longer idle time', async () => {
  const { ask, sockets } = await answeredWith((socket) => sockets.size === 1 && socket.write(OK), {
    timeoutMs: 1500,
  });
  expect(textOf(await ask())).toBe('200 ok');
  const [first] = sockets;
  if (first?.closed !== true) await once(first as Socket, 'close');
  await expect(ask()).rejects.toThrow('no byte of an answer for 1.5 s');
});

it('a request is not counted as waiting after its connection has closed', async () => {
  const { ask, onCrowded } = await answeredWith((socket) =>
    socket.write(wire('HTTP/1.1 204 No\nConnection: close\n\n')),
  );
  for (let count = 0; count < 3; count += 1) await ask();
  expect(onCrowded).not.toHaveBeenCalled();
});

it.each<[what: string, answer: string, used: number, text?: string]>([
  ['with a length', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok', 1],
  ['in chunks', 'HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1\no\n1\nk\n0\n\n', 1],
  ['behind an interim one', 'HTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nok', 1],
  ['of a server that closes next', 'HTTP/1.1 200 OK\nConnection: close\nContent-Length: 2\n\nok', 2],
  ['of a server that closes soon', 'HTTP/1.1 200 OK\nKeep-Alive: timeout=1\nContent-Length: 2\n\nok', 2],
  ['of HTTP/1.0', 'HTTP/1.0 200 OK\nContent-Length: 2\n\nok', 2],
  ['with 204, which has no body,', 'HTTP/1.1 204 None\nDate: now\n\n', 1, '204 '],
])('an answer %s is read, and its connection is reused where allowed', async (_, answer, used, text = '200 ok') => {
  const { ask, sockets } = await answeredWith((socket) => socket.write(wire(answer)));
  expect([await ask(), await ask()].map(textOf)).toEqual([text, text]);
  expect(sockets.size).toBe(used);
});

it.each([
  ['that is something else', 'SSH-2.0-x\n\n'],
  ['to another protocol', 'HTTP/1.1 101 Switching\nUpgrade: x\n\n'],
])('an answer %s fails its request', async (_, answer) => {
  const { ask } = await answeredWith((socket) => socket.write(wire(answer)));
  await expect(ask()).rejects.toThrow(/not HTTP\/1\.1/);
});

it('an answer cut before its end fails its request', async () => {
  const { ask } = await answeredWith((socket) => socket.end(OK.slice(0, -1)));
  await expect(ask()).rejects.toThrow('other side closed');
});

it.each(['HTTP/1.1 200 OK\nContent-Length: 5\n\nwrong', '\n', 'noise'])(
  'an answer followed by %j is no answer to the next request',
  async (more) => {
    const { ask, sockets } = await answeredWith((socket) => socket.write(sockets.size === 1 ? OK + wire(more) : OK));
    expect(textOf(await ask())).toBe('200 ok');
    expect(textOf(await ask().catch(() => ask()))).toBe('200 ok');
  },
);
