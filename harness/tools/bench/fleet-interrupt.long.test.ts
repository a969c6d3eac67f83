import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { interruptFleet } from './fleet-interrupt.ts';

it('Ctrl-C in a terminal, which every process of a fleet gets, leaves no process, socket or folder', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'muster-interrupt-keys-'));
  try {
    const { exitCode, before, left } = await interruptFleet(12, stateDir);
    // The command itself, a worker and the platform; a socket for each robot.
    expect(before).toEqual({ processes: 3, sockets: 12, folders: 1 });
    expect(left).toEqual({ processes: 0, sockets: 0, folders: 0 });
    expect(exitCode).toBe(130);
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
});
