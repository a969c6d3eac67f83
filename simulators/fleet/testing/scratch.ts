/** What tests of a fleet need of their machine. */

import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { type Scratch, scratch } from '../../common/testing/scratch.ts';

/** Call once in a test file: each test has an empty folder of its own. The function tells paths in it. */
export function useFolder(): (...names: string[]) => string {
  let own: Scratch;
  beforeEach(() => {
    own = scratch();
  });
  afterEach(() => own[Symbol.dispose]());
  return (...names) => join(own.path, ...names);
}

/** A port of 127.0.0.1 at which a server was, and nobody listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
