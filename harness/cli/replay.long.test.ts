/** `muster replay` runs exactly what a report found, against the same target and against a mended one. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { Report } from '../runner/types.ts';
import { HttpControl } from '../targets/control/http-control.ts';
import { muster, Running } from './testing/muster.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-replay-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function publish(control: string, count: number): Promise<void> {
  const client = new HttpControl(control);
  await client.publish(count);
  await client.close();
}

/** Two defects that have nothing to do with each other. */
const BOTH = ['replay-inclusive', 'malformed-crashes'];

it('runs exactly what failed, with its counterexample', async () => {
  const socket = join(folder, 'inclusive.sock');
  const control = join(folder, 'inclusive-control.sock');
  const dir = join(folder, 'inclusive');
  const at = ['--socket', socket, '--control', control];
  await using device = new Running(['simulate', 'device', ...at, '--dir', dir, '--defect', ...BOTH]);
  await device.ready();
  const file = join(folder, 'run.json');
  await publish(control, 30);
  // Black-box checks that publish nothing, so that neither depends on what the other does meanwhile.
  const id = 'device.events.replay.exclusive.retained';
  const other = 'device.events.cursor.malformed';
  const first = await muster('check', 'device', ...at, '--only', id, other, '--report', `json=${file}`);
  expect(first.code).toBe(1);
  const failed = (JSON.parse(readFileSync(file, 'utf8')) as Report).checks.filter(
    ({ outcome }) => outcome === 'fail' || outcome === 'warn',
  );
  expect(failed).toHaveLength(2);
  const { code, stdout } = await muster('replay', file);
  expect(stdout.match(/HAPPENED AGAIN/g)).toHaveLength(1);
  expect(stdout).toContain(`${failed.length} of ${failed.length} findings happened again\n`);
  expect(stdout).toContain(`✗ ${id}  MUST`);
  // What it says to copy leads to the report that still exists.
  expect(stdout).toContain(`again      muster replay ${file} --only ${id}\n`);
  expect(code).toBe(1);
  // Mended: every check is named once more, and what became of it.
  const mended = ['simulate', 'device', '--socket', `${socket}.mended`, '--dir', `${dir}.mended`];
  await using mendedDevice = new Running([...mended, '--control', `${control}.mended`]);
  await mendedDevice.ready();
  await publish(`${control}.mended`, 30);
  const instead = ['--socket', `${socket}.mended`, '--control', `${control}.mended`];
  const now = await muster('replay', file, '--', ...instead);
  expect(now.stdout).toMatch(/DID NOT HAPPEN AGAIN {2}\d passed/);
  expect(now.stdout).toContain(`0 of ${failed.length} findings happened again; not again: `);
  expect(now.code).toBe(0);
  expect((await muster('replay', file, '--only', 'device.version.prefix')).code).toBe(64);
});
