/** Where tests of targets work: a folder that goes with their file, and servers that end with their test. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

/** An empty folder, removed after the last test of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-targets-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Serves HTTP on a port of loopback or on a socket until the test ends. Gives the port, 0 for a socket. */
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

/** The origin of a server that answers so. */
export const serve = async (answer: RequestListener, socket?: string): Promise<string> =>
  `http://127.0.0.1:${await listening(createServer(answer), socket)}`;

/** Answers every request with the JSON of what `answer` gives. */
export const inJson =
  (answer: (path: string, authorization: string | undefined) => unknown): RequestListener =>
  (request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer(request.url ?? '', request.headers.authorization)));
  };
