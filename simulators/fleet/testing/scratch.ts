/** Folders, servers and ports for tests of a fleet. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, onTestFinished } from 'vitest';
import { type Scratch, scratch } from '../../common/testing/scratch.ts';

/** Gives each test an empty folder; the returned function makes paths in the folder. */
export function useFolder(): (...names: string[]) => string {
  let own: Scratch;
  beforeEach(() => {
    own = scratch();
  });
  afterEach(() => own[Symbol.dispose]());
  return (...names) => join(own.path, ...names);
}

/**
 * Starts a server on a Unix socket, or on a free port of 127.0.0.1, until the test ends. `sockets`: all connections.
 */
export async function served(server: Server, path?: string) {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => void sockets.add(socket.on('error', () => {})));
  server.listen(path ?? { port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}`, sockets };
}

export async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
