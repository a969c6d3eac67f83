/** Null servers implement nothing that the specification asks for: a check of a MUST that passes on one of them proves nothing. */
import { rmSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';

/** What each server does with its clients. */
export const NULL_SERVERS = {
  'hangs-up': 'closes every connection at once',
  'not-found': 'answers everything with 404 and an empty body',
  'empty-object': 'answers everything with 200 and {}',
  'never-answers': 'accepts every connection and never says anything',
  'empty-list': 'answers everything with 200 and an empty list, with or without a key',
} as const;
export type NullServerName = keyof typeof NULL_SERVERS;

export interface NullServer extends AsyncDisposable {
  /** Path of its unix socket, or its URL. */
  readonly address: string;
  /** Port on 127.0.0.1; undefined on a unix socket. */
  readonly port: number | undefined;
  close(): Promise<void>;
}

/** Listens on a unix socket, or on a port of 127.0.0.1 (0: any free port). Rejects when it cannot. */
export async function nullServer(
  name: NullServerName,
  where: { path: string } | { port: number },
): Promise<NullServer> {
  const server = SERVERS[name]();
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

const answering = (status: number, body = ''): http.Server =>
  http.createServer((request, response) => {
    request.resume();
    response.writeHead(status, body === '' ? {} : { 'Content-Type': 'application/json' }).end(body);
  });

const SERVERS: Record<NullServerName, () => net.Server> = {
  'hangs-up': () => net.createServer((socket) => socket.destroy()),
  'not-found': () => answering(404),
  'empty-object': () => answering(200, '{}'),
  'never-answers': () => net.createServer((socket) => socket.resume()),
  'empty-list': () => answering(200, '{"object":"list","limit":10,"offset":0,"has_more":false,"data":[]}'),
};
