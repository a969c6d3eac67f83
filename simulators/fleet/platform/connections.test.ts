import { createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { closedPort, served } from '../../../harness/common/testing/servers.ts';
import { poll } from '../../../harness/common/waiting.ts';
import { exchange } from '../../common/platform-http.ts';
import { Connections } from './connections.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

async function silentServer() {
  const asked: { socket: Socket; path: string }[] = [];
  const server = createServer((socket) => {
    socket.on('data', (bytes) => {
      for (const [, path = ''] of String(bytes).matchAll(/^GET (\S+)/gm)) asked.push({ socket, path });
    });
  });
  const { url: origin, sockets } = await served(server);
  const answer = (): void => {
    for (const { socket } of asked.splice(0)) socket.write(ANSWER);
  };
  return { origin, sockets, asked, answer };
}

function connectionsTo(origin: string, most: number) {
  const [onOpened, onCrowded] = [vi.fn<() => void>(), vi.fn<() => void>()];
  const sent: string[] = [];
  const connections = new Connections({ origin, most, timeoutMs: 60_000, onOpened, onCrowded });
  onTestFinished(() => connections.destroy());
  const ask = (path: string, patient = false): Promise<number> =>
    exchange(connections, {
      method: 'GET',
      path,
      headers: {},
      body: null,
      patient,
      onSent: () => sent.push(path),
    }).then(({ status }) => status);
  return { connections, onOpened, onCrowded, sent, ask };
}

const until = (what: string, done: () => boolean) =>
  poll(what, () => done() || undefined, { timeoutMs: 20_000, firstPauseMs: 2 });
const isOpen = (socket: Socket): boolean => !socket.destroyed && !socket.readableEnded;
const paths = (count: number, name = 'r'): string[] => Array.from({ length: count }, (_, at) => `/${name}${at}`);

describe('the connections of a load generator', () => {
  it('send every request without waiting for answers, and open ahead of need', async () => {
    const { origin, sockets, asked, answer } = await silentServer();
    const { sent, onCrowded, ask } = connectionsTo(origin, 1000);
    const first = ask('/first');
    await until('more connections than requests', () => sockets.size > 1 && asked.length === 1);
    const all = paths(60).map((path) => ask(path));
    await until('all requests', () => asked.length === 61);
    expect(new Set(asked.map(({ socket }) => socket)).size).toBe(61);
    expect(sent).toHaveLength(61);
    expect(onCrowded).toHaveBeenCalledTimes(0);
    answer();
    expect(new Set(await Promise.all([first, ...all]))).toEqual(new Set([200]));
  });

  it('report each waiting request, and count it as sent only afterwards', async () => {
    const { origin, sockets, asked, answer } = await silentServer();
    const { sent, onOpened, onCrowded, ask } = connectionsTo(origin, 4);
    const all = paths(10).map((path) => ask(path));
    await until('four requests', () => asked.length === 4);
    expect(onCrowded).toHaveBeenCalledTimes(6);
    expect(sent).toEqual(paths(4));
    const answering = setInterval(answer, 1);
    await Promise.all(all).finally(() => clearInterval(answering));
    expect(sent).toEqual(paths(10));
    expect([sockets.size, onOpened.mock.calls.length]).toEqual([4, 4]);
  });

  it('queue patient requests behind others, without reporting them', async () => {
    const { origin, asked, answer } = await silentServer();
    const { sent, onCrowded, ask } = connectionsTo(origin, 2);
    const burst = paths(6, 'burst').map((path) => ask(path, true));
    await until('two requests', () => asked.length === 2);
    expect(onCrowded).toHaveBeenCalledTimes(0);
    const due = ask('/due');
    const answering = setInterval(answer, 1);
    await Promise.all([...burst, due]).finally(() => clearInterval(answering));
    expect(sent.indexOf('/due')).toBeLessThanOrEqual(3);
    expect(onCrowded).toHaveBeenCalledTimes(1);
  });

  it('open another when the server closes one', async () => {
    const { origin, sockets, asked, answer } = await silentServer();
    const { ask } = connectionsTo(origin, 1);
    const lost = ask('/lost');
    await until('the request', () => asked.length === 1);
    const next = ask('/next');
    for (const socket of sockets) socket.destroy();
    asked.length = 0;
    await expect(lost).rejects.toThrow();
    await until('the next request', () => asked.length === 1);
    answer();
    expect(await next).toBe(200);
  });

  it('fail every request when nothing listens', async () => {
    const { ask } = connectionsTo(`http://127.0.0.1:${await closedPort()}`, 8);
    const ends = await Promise.allSettled(paths(20).map((path) => ask(path)));
    expect(new Set(ends.map((end) => (end.status === 'rejected' ? end.reason.code : 'answered')))).toEqual(
      new Set(['ECONNREFUSED']),
    );
  });

  it('end waiting requests when they are closed', async () => {
    const { origin, asked } = await silentServer();
    const { connections, ask } = connectionsTo(origin, 1);
    const all = paths(3).map((path) => ask(path));
    await until('a request', () => asked.length === 1);
    const ends = Promise.allSettled(all);
    await connections.destroy();
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });

  it('close unused spare connections at the end', async () => {
    const { origin, sockets, asked, answer } = await silentServer();
    const { connections, ask } = connectionsTo(origin, 100);
    const asking = ask('/');
    await until('the request and the spare connections', () => asked.length === 1 && sockets.size > 4);
    answer();
    expect(await asking).toBe(200);
    await connections.destroy();
    await until('the end of all connections', () => ![...sockets].some(isOpen));
  });
});
