import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { served } from '../../common/testing/servers.ts';

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const serve = async (answer: RequestListener, socket?: string): Promise<string> =>
  (await served(createServer(answer), socket)).url;

export const inJson =
  (answer: (path: string, authorization: string | undefined) => unknown): RequestListener =>
  (request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer(request.url ?? '', request.headers.authorization)));
  };
