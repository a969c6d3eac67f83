/** A server that does nothing passes no MUST. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { NULL_SERVERS, type NullServerName, nullServer } from '../../simulators/defects/null.ts';
import { runDeviceSuite } from './testing/run.ts';

it.for(Object.keys(NULL_SERVERS) as NullServerName[])('%s passes no MUST', async (kind) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-null-'));
  try {
    const socket = join(folder, 'null.sock');
    await using _server = await nullServer(kind, { path: socket });
    const report = await runDeviceSuite({ socket, patienceMs: 300 });
    const passed = report.checks.filter(({ level, outcome }) => level === 'MUST' && outcome === 'pass');
    expect(passed.map(({ id }) => id)).toEqual([]);
    expect(report.exit_code).toBe(1);
  } finally {
    await rm(folder, { recursive: true });
  }
});
