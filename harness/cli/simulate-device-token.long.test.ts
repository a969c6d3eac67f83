import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { expect, test } from 'vitest';
import { CLI, deviceHome, ready } from './testing/simulated-device.ts';

/** A check that drives. */
const DRIVEN = 'device.events.envelope';

const home = deviceHome();

test('serves control on a port to whoever has the token, as `muster check` has it from a file or the environment', async () => {
  const shown = await ready(home.muster('--socket', 'shown.sock', '--dir', 'shown', '--control', '0'));
  const file = join(home.path, 'control.token');
  const kept = await ready(
    home.muster('--socket', 'a.sock', '--dir', 'robot', '--control', '0', '--control-token', file),
  );
  expect(kept).not.toHaveProperty('control_token');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const check = async (told: Record<string, unknown>, options: string[], env: Record<string, string> = {}) => {
    const socket = resolve(home.path, String(told['socket']));
    const words = ['--socket', socket, '--control', String(told['control']), '--only', DRIVEN, ...options];
    return await new Promise<{ code: number | string | null | undefined; said: string }>((done) => {
      const command = [CLI, 'check', 'device', ...words];
      execFile(process.execPath, command, { env: { ...process.env, ...env } }, (error, stdout, stderr) =>
        done({ code: error === null ? 0 : error.code, said: stdout + stderr }),
      );
    });
  };
  const byFile = await check(kept, ['--control-token', file]);
  expect(byFile.code, byFile.said).toBe(0);
  const byVariable = await check(shown, [], { MUSTER_CONTROL_TOKEN: String(shown['control_token']) });
  expect(byVariable.code, byVariable.said).toBe(0);
  expect(byVariable.said).not.toContain(String(shown['control_token']));
  const without = await check(shown, []);
  expect(without.code).toBe(2);
  expect(without.said).toMatch(/answered 401.*MUSTER_CONTROL_TOKEN, or from the file of --control-token/s);
  expect((await check(shown, ['--control-token', join(home.path, 'none')])).code).toBe(64);
});
