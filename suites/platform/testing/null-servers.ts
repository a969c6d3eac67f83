/** Servers that do nothing at all, in three ways. No MUST may pass against them. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type NullServer = 'hangs up' | 'answers 404' | 'answers 200 {}' | 'answers an empty list';

export interface RunningNull extends AsyncDisposable {
  url: string;
}

export async function nullServer(kind: NullServer): Promise<RunningNull> {
  const server: Server = createServer((request, response) => {
    if (kind === 'hangs up') {
      request.socket.destroy();
      return;
    }
    const status = kind === 'answers 404' ? 404 : 200;
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(
      kind === 'answers an empty list'
        ? '{"object":"list","limit":10,"offset":0,"has_more":false,"data":[]}'
        : kind === 'answers 404'
          ? '{"error":{"code":"not_found","params":{},"message":"not found"}}'
          : '{}',
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/beta`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
