/** Servers that do nothing, each in its way. A suite that lets one pass a MUST proves nothing. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export const NULL_SERVERS = ['hangs up', 'answers 404', 'answers 200 {}', 'never answers'] as const;
export type NullServer = (typeof NULL_SERVERS)[number];

/** Listens on a unix socket, or on a free port of loopback when no path is given; `address` is that path or `http://…`. */
export async function startNullServer(kind: NullServer, path?: string): Promise<AsyncDisposable & { address: string }> {
  const server = createServer((request, response) => {
    request.on('error', () => {}).resume();
    switch (kind) {
      case 'hangs up':
        request.socket.destroy();
        break;
      case 'answers 404':
        response
          .writeHead(404, { 'content-type': 'application/json' })
          .end('{"error":{"code":"not_found","params":{},"message":"not found"}}');
        break;
      case 'answers 200 {}':
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
        break;
      case 'never answers':
        break;
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    if (path === undefined) server.listen(0, '127.0.0.1', resolve);
    else server.listen(path, resolve);
  });
  return {
    address: path ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
