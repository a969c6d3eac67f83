import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveTask } from '../process.ts';

const kept: Buffer[] = [];

export const tasks = {
  listen: (bytes: number): Promise<number> => {
    const server = createServer((_request, response) => {
      if (bytes > 0) kept.push(Buffer.alloc(bytes, kept.length));
      response.end(String(kept.length));
    });
    const port = (): number => (server.address() as AddressInfo).port;
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(port())));
  },
};

if (import.meta.main) serveTask(tasks);
