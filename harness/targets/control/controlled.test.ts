import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { served } from '../../common/testing/servers.ts';
import { TcpProxy } from './controlled-agent.ts';

test('a TCP proxy has the path of its address on a port of loopback, and refuses a port in use', async () => {
  const { port } = await served(createServer());
  await expect(TcpProxy.to('http://robot', port)).rejects.toThrow('EADDRINUSE');
  for (const path of ['', '/', '/beta', '/beta/']) {
    await using proxy = await TcpProxy.to(`https://robot${path}`);
    expect(proxy.url.replace(/^https:\/\/127\.0\.0\.1:\d+/, '')).toBe(path);
  }
});
