import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { served } from '../../common/testing/servers.ts';
import { TcpProxy } from './controlled-agent.ts';

test('a TCP proxy carries bytes until it is cut, and once it is restored', async () => {
  const { url } = await served(createServer((socket) => void socket.pipe(socket)));
  await using proxy = await TcpProxy.to(url);
  expect(proxy.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const open = () => connect(Number(new URL(proxy.url).port), '127.0.0.1').on('error', () => {});

  const first = open();
  first.write('hello');
  expect(String((await once(first, 'data'))[0])).toBe('hello');
  const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));
  const ended = closed(first);
  proxy.cut();
  await ended;

  const refused = open();
  await closed(refused);

  proxy.restore();
  const again = open();
  again.write('back');
  expect(String((await once(again, 'data'))[0])).toBe('back');
  await expect(TcpProxy.to('http://robot', Number(new URL(proxy.url).port))).rejects.toThrow('EADDRINUSE');
  again.resetAndDestroy();
  for (const path of ['/', '/beta', '/beta/']) {
    await using below = await TcpProxy.to(`https://robot${path}`);
    expect(below.url.replace(/^https:\/\/127\.0\.0\.1:\d+/, '')).toBe(path);
  }
});
