/** What tests of a fleet need of their machine. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, onTestFinished } from 'vitest';
import { type Scratch, scratch } from '../../common/testing/scratch.ts';

/** Call once in a test file: each test has an empty folder of its own. The function tells paths in it. */
export function useFolder(): (...names: string[]) => string {
  let own: Scratch;
  beforeEach(() => {
    own = scratch();
  });
  afterEach(() => own[Symbol.dispose]());
  return (...names) => join(own.path, ...names);
}

/**
 * Listens at a Unix socket, or at a free port of 127.0.0.1, until the end of the test, which cuts all connections.
 * Resolves with the port, its URL, and the connections so far.
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

/** A port of 127.0.0.1 at which a server was, and nobody listens. */
export async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
