/**
 * Node's HTTP. An `import` of `node:http` reads every export, and the first look at `WebSocket` loads a web client: 50
 * ms of processor at each start.
 */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getBuiltinModule } from 'node:process';

export const http = getBuiltinModule('node:http');

export interface Listening extends AsyncDisposable {
  readonly port: number;
}

/** Listens until disposed of, which cuts all connections. Rejects when it cannot. */
export async function listening(server: Server, port: number, host: string): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
