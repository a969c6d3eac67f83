import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { served } from '../../../harness/common/testing/servers.ts';
import { type Answer, type ExchangeOptions, exchange } from '../../common/platform-http.ts';
import { Connections } from './connections.ts';

async function answeredWith(answer: (socket: Socket, request: string) => unknown, timeoutMs = 60_000) {
  const requests: string[] = [];
  const server = createServer((socket) => {
    socket.on('data', (bytes) => {
      requests.push(bytes.toString('latin1'));
      answer(socket, bytes.toString('latin1'));
    });
  });
  const { port, url: origin, sockets } = await served(server);
  const onCrowded = vi.fn<() => void>();
  const connections = new Connections({ origin, most: 1, timeoutMs, onCrowded });
  onTestFinished(() => connections.destroy());
  const ask = (more: Partial<ExchangeOptions> = {}): Promise<Answer> =>
    exchange(connections, { method: 'GET', path: '/devices?limit=1', headers: {}, body: null, ...more });
  return { ask, requests, sockets, connections, onCrowded, host: `127.0.0.1:${port}` };
}

const wire = (text: string): string => text.replaceAll('\n', '\r\n');
const textOf = ({ bytes }: Answer): string => Buffer.from(bytes).toString();
const OK = wire('HTTP/1.1 200 OK\nContent-Length: 2\n\nok');

describe('a request', () => {
  it('is one line, its fields and its body', async () => {
    const { ask, requests, host } = await answeredWith((socket) => socket.write(OK));
    await ask({ headers: { 'x-api-key': 'key' } });
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
  ])('with %s is refused, and the next is sent', async (_, wrong) => {
    const { ask, requests } = await answeredWith((socket) => socket.write(OK));
    await expect(ask(wrong)).rejects.toThrow();
    expect(textOf(await ask())).toBe('ok');
    expect(requests).toHaveLength(1);
  });

  it('cuts its connection when aborted, and the next one uses another', async () => {
    const { ask, sockets } = await answeredWith((socket) => sockets.size > 1 && socket.write(OK));
    const over = new AbortController();
    const asking = ask({ signal: over.signal, onSent: () => setImmediate(() => over.abort(new Error('enough'))) });
    await expect(asking).rejects.toThrow('enough');
    expect(textOf(await ask())).toBe('ok');
    expect(sockets.size).toBe(2);
  });

  it('fails when no byte comes in time, even after a longer idle time', async () => {
    const { ask, sockets } = await answeredWith((socket) => sockets.size === 1 && socket.write(OK), 500);
    expect(textOf(await ask())).toBe('ok');
    const [first] = sockets;
    if (first?.closed !== true) await once(first as Socket, 'close');
    await expect(ask()).rejects.toThrow('no byte of an answer for 0.5 s');
  });

  it('is not counted as waiting after its connection has closed', async () => {
    const { ask, onCrowded } = await answeredWith((socket) =>
      socket.write(wire('HTTP/1.1 204 No\nConnection: close\n\n')),
    );
    for (let count = 0; count < 3; count += 1) await ask();
    expect(onCrowded).not.toHaveBeenCalled();
  });

  it('fails after the connections are closed', async () => {
    const { ask, connections } = await answeredWith((socket) => socket.write(OK));
    await ask();
    await connections.destroy();
    await expect(ask()).rejects.toThrow('the connections were closed');
  });
});

describe('an answer', () => {
  it.each([
    ['with a length', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok', 1],
    ['in chunks', 'HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1\no\n1\nk\n0\n\n', 1],
    ['behind an interim one', 'HTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nok', 1],
    ['of a server that closes next', 'HTTP/1.1 200 OK\nConnection: close\nContent-Length: 2\n\nok', 2],
    ['of a server that closes soon', 'HTTP/1.1 200 OK\nKeep-Alive: timeout=1\nContent-Length: 2\n\nok', 2],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\nContent-Length: 2\n\nok', 2],
  ])('%s is read, and its connection is reused where allowed', async (_, answer, used) => {
    const { ask, sockets } = await answeredWith((socket) => socket.write(wire(answer)));
    expect(textOf(await ask())).toBe('ok');
    expect(textOf(await ask())).toBe('ok');
    expect(sockets.size).toBe(used);
  });

  it('with 204 has fields and no body', async () => {
    const { ask, sockets } = await answeredWith((socket) => socket.write(wire('HTTP/1.1 204 None\nDate: now\n\n')));
    for (const { status, headers, bytes } of [await ask(), await ask()])
      expect({ status, date: headers['date'], length: bytes.length }).toEqual({ status: 204, date: 'now', length: 0 });
    expect(sockets.size).toBe(1);
  });

  it.each([
    ['that is something else', 'SSH-2.0-x\n\n'],
    ['to another protocol', 'HTTP/1.1 101 Switching\nUpgrade: x\n\n'],
  ])('%s fails its request', async (_, answer) => {
    const { ask } = await answeredWith((socket) => socket.write(wire(answer)));
    await expect(ask()).rejects.toThrow(/not HTTP\/1\.1/);
  });

  it('cut before its end fails its request', async () => {
    const { ask } = await answeredWith((socket) => socket.end(OK.slice(0, -1)));
    await expect(ask()).rejects.toThrow('other side closed');
  });

  it.each(['HTTP/1.1 200 OK\nContent-Length: 5\n\nwrong', '\n', 'noise'])(
    'followed by %j is no answer to the next request',
    async (more) => {
      const { ask, sockets } = await answeredWith((socket) => socket.write(sockets.size === 1 ? OK + wire(more) : OK));
      expect(textOf(await ask())).toBe('ok');
      expect(textOf(await ask().catch(() => ask()))).toBe('ok');
    },
  );
});
