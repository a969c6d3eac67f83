/** The command runs all that is fast against a simulated device, both as processes. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratch } from '../../simulators/common/testing/scratch.ts';
import { muster, Running } from './testing/muster.ts';

it('a simulated device is conformant, black box or driven', async () => {
  using folder = scratch();
  const [socket, control] = ['robot.sock', 'control.sock'].map((name) => join(folder.path, name)) as [string, string];
  const dir = join(folder.path, 'robot');
  await using device = new Running(['simulate', 'device', '--socket', socket, '--control', control, '--dir', dir]);
  await device.ready();
  const check = ['check', 'device', '--socket', socket, '--fast'];
  const driven = await muster(...check, '--control', control, '--report', 'pretty');
  expect(driven.stdout).toMatch(/\d+ passed/);
  expect(driven.stdout).not.toMatch(/\d (failed|blocked|warned)/);
  expect(driven.code).toBe(0);
  const blackBox = await muster(...check);
  expect(blackBox.stdout).toContain('needs drive');
  expect(blackBox.code).toBe(0);
});
