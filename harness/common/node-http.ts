/** Loads Node's HTTP without `import`, which would cost 50 ms of processor time at each start. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getBuiltinModule } from 'node:process';

export const http = getBuiltinModule('node:http');

/** Undefined for an unusable target. Two slashes at the beginning name no host (RFC 9112, section 3.2.1). */
export const targetUrl = (target: string): URL | undefined =>
  URL.parse(target.startsWith('/') ? `http://localhost${target}` : target) ?? undefined;

export interface Listening extends AsyncDisposable {
  readonly port: number;
}

/** Rejects if the port cannot be opened. Disposal cuts all connections. */
export async function listening(server: Server, port: number, host: string): Promise<Listening> {
  await once(server.listen(port, host), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
