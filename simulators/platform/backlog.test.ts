import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { simulatePlatform } from './index.ts';

/** More than Node's own limit of 511. */
const CLIENTS = 1000;
const SYSTEM = '/proc/sys/net/core/somaxconn';
const allowed = existsSync(SYSTEM) ? Number(readFileSync(SYSTEM, 'utf8')) : 0;

/** Ends with 0 when all of them are connected. */
const CONNECT = `
const net = require('node:net');
let left = ${CLIENTS};
for (let client = 0; client < ${CLIENTS}; client += 1)
  net.connect(Number(process.argv[1]), '127.0.0.1', () => (left -= 1) === 0 && process.exit(0)).on('error', () => process.exit(1));
`;

test.skipIf(allowed <= CLIENTS)(
  `a platform that is busy for a while keeps ${CLIENTS} clients that connect${allowed <= CLIENTS ? ` (skipped: ${SYSTEM} allows fewer)` : ''}`,
  async () => {
    await using platform = await simulatePlatform({ seed: 1 });
    const { port } = new URL(platform.url);
    // The event loop stands still until the clients have ended. The limit only ends what hangs.
    const { status, signal } = spawnSync(process.execPath, ['-e', CONNECT, port], { timeout: 30_000 });
    expect({ status, signal }).toEqual({ status: 0, signal: null });
  },
);
