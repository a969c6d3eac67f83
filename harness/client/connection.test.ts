import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { useScratch } from '../../simulators/common/testing/scratch.ts';
import { Unreachable } from './errors.ts';
import { clientOf } from './testing/served.ts';

const home = useScratch();

it('a socket gives up in time when the listener stays full', async () => {
  const socketPath = join(home.path, 'short.sock');
  // The process stops itself after `listen`, so the listener never accepts.
  const source = `
    const server = require('node:net').createServer().listen({ path: process.argv[1], backlog: 1 }, () => {
      process.stdout.write('ready', () => process.kill(process.pid, 'SIGSTOP'));
    });`;
  const stopped = spawn(process.execPath, ['-e', source, socketPath], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void stopped.kill('SIGKILL'));
  expect(String(await once(stopped.stdout, 'data'))).toBe('ready');
  const http = await clientOf({ origin: 'http://localhost', socketPath }, { timeoutMs: 300 });
  const connections = await Promise.allSettled(Array.from({ length: 6 }, () => http.connect()));
  const [full] = connections.flatMap((settled) => (settled.status === 'rejected' ? [settled.reason] : []));
  expect(full).toBeInstanceOf(Unreachable);
  expect(String(full)).toContain('EAGAIN');
});
