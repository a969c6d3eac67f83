import { createServer } from 'node:http';
import { listenAnywhere, serveTask } from '../process.ts';

const kept: Buffer[] = [];

export const tasks = {
  listen: (bytes: number): Promise<number> =>
    listenAnywhere(
      createServer((_request, response) => {
        if (bytes > 0) kept.push(Buffer.alloc(bytes, kept.length));
        response.end(String(kept.length));
      }),
    ),
};

if (import.meta.main) serveTask(tasks);
