/** Creates folders and servers that end with their test. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-targets-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  return folder;
}

export async function listening(server: Server, socket?: string): Promise<number> {
  onTestFinished(async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  });
  if (socket === undefined) server.listen(0, '127.0.0.1');
  else server.listen(socket);
  await once(server, 'listening');
  return socket === undefined ? (server.address() as AddressInfo).port : 0;
}

export const serve = async (answer: RequestListener, socket?: string): Promise<string> =>
  `http://127.0.0.1:${await listening(createServer(answer), socket)}`;

export const inJson =
  (answer: (path: string, authorization: string | undefined) => unknown): RequestListener =>
  (request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer(request.url ?? '', request.headers.authorization)));
  };
