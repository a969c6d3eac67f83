/**
 * Servers that stand in for something: on a unix socket or a port, and gone with all their connections when they are
 * closed.
 */
import { rmSync } from 'node:fs';
import type net from 'node:net';

/** A unix socket, or a port of 127.0.0.1 (0: any free port). */
export type Place = { path: string } | { port: number };

export interface StandIn extends AsyncDisposable {
  /** Path of its unix socket, or its URL. */
  readonly address: string;
  /** Port on 127.0.0.1; undefined on a unix socket. */
  readonly port: number | undefined;
  close(): Promise<void>;
}

/** Resolves when `server` listens; rejects with the system's error when it cannot. */
export async function listenAt(server: net.Server, where: Place): Promise<StandIn> {
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen('path' in where ? { path: where.path } : { port: where.port, host: '127.0.0.1' }, resolve);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound ? bound.port : undefined;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
    return closing.then(() => {
      if ('path' in where) rmSync(where.path, { force: true });
    });
  };
  const address = 'path' in where ? where.path : `http://127.0.0.1:${port}`;
  return { address, port, close, [Symbol.asyncDispose]: close };
}
