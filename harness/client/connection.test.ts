import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { useScratch } from '../../simulators/common/testing/scratch.ts';
import { Unreachable } from './errors.ts';
import { HttpClient } from './http.ts';

/** Default backlog of Python's `socketserver`. */
const BACKLOG = 5;
const AT_ONCE = 40;

const home = useScratch();

function clientOf(socketPath: string, timeoutMs = 10_000): HttpClient {
  const http = new HttpClient({ endpoint: { origin: 'http://localhost', socketPath }, timeoutMs });
  onTestFinished(() => http.close());
  return http;
}

async function crowd(http: HttpClient) {
  const told = (error: Error): string => error.message;
  const requests = Array.from({ length: AT_ONCE }, () => http.get('/').then(({ status }) => status, told));
  const sockets = Array.from({ length: AT_ONCE }, () => http.connect().then((socket) => void socket.destroy(), told));
  return [...new Set(await Promise.all([...requests, ...sockets]))];
}

it('requests and sockets wait for a full listener', async () => {
  const path = join(home.path, 'short.sock');
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => socket.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n'));
  });
  await new Promise<void>((resolve) => server.listen({ path, backlog: BACKLOG }, resolve));
  onTestFinished(() => void server.close());
  expect(await crowd(clientOf(path))).toEqual([204, undefined]);
});

it('a socket gives up in time when the listener stays full', async () => {
  const path = join(home.path, 'short.sock');
  // The process stops itself after `listen`, so the listener never accepts.
  const source = `
    const server = require('node:net').createServer().listen({ path: process.argv[1], backlog: 1 }, () => {
      process.stdout.write('ready', () => process.kill(process.pid, 'SIGSTOP'));
    });`;
  const stopped = spawn(process.execPath, ['-e', source, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void stopped.kill('SIGKILL'));
  expect(String(await once(stopped.stdout, 'data'))).toBe('ready');
  const http = clientOf(path, 300);
  const connections = await Promise.allSettled(Array.from({ length: 6 }, () => http.connect()));
  const [full] = connections.flatMap((settled) => (settled.status === 'rejected' ? [settled.reason] : []));
  expect(full).toBeInstanceOf(Unreachable);
  expect(String(full)).toContain('EAGAIN');
});
