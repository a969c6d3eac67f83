/** An error that nobody awaits, planted into the real command: the report is written, and the exit code is 3. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { robot } from '../../simulators/device/testing/robot.ts';
import type { Report } from '../runner/types.ts';
import { Running } from './testing/muster.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-faults-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The fault comes with a signal, so that the test decides when. */
const planted = (statement: string): string => {
  const file = join(folder, `${statement.length}.mjs`);
  writeFileSync(file, `import process from 'node:process';\nprocess.on('SIGUSR2', () => { ${statement} });\n`);
  return pathToFileURL(file).href;
};

test.each([
  ['a rejection', "Promise.reject(new Error('planted fault'));"],
  ['an exception', "setImmediate(() => { throw new Error('planted fault'); });"],
])('%s that nobody awaits', async (_, statement) => {
  // A device that conforms, so that nothing but the fault can be red; the run waits for its heartbeats when the fault comes.
  await using on = await robot({ heartbeatMs: 30_000 });
  const file = join(folder, `${statement.length}.json`);
  await using run = new Running(
    ['check', 'device', '--socket', on.socket, '--report', `json=${file}`, '--report', 'pretty'],
    { env: { NODE_OPTIONS: `--import=${planted(statement)}` } },
  );
  await run.line((line) => line.includes('muster'));
  run.child.kill('SIGUSR2');
  const { code, stderr } = await run.ended;
  expect(stderr).toContain('planted fault');
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
  expect(report.checks.length).toBeGreaterThan(50);
  const faults = report.checks.filter(({ fault }) => fault === true);
  expect(faults.length).toBeGreaterThan(0);
  for (const { outcome, reason } of faults)
    expect({ outcome, reason }).toEqual({ outcome: 'blocked', reason: 'a fault in Muster: Error: planted fault' });
  expect(report.summary.fail).toBe(0);
  expect([code, report.exit_code]).toEqual([3, 3]);
});
