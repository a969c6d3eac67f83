/** An error that nobody awaits, planted into the real command: the report is written, and the exit code is 3. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { nullServer } from '../../simulators/defects/null.ts';
import type { Report } from '../runner/types.ts';
import { Running } from './testing/muster.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-faults-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Plants the fault as soon as the first check has begun, which the terminal does not show: the null server hears of it. */
const planted = (statement: string): string => {
  const file = join(folder, `${statement.length}.mjs`);
  writeFileSync(file, `import process from 'node:process';\nprocess.on('SIGUSR2', () => { ${statement} });\n`);
  return pathToFileURL(file).href;
};

test.each([
  ['a rejection', "Promise.reject(new Error('planted fault'));"],
  ['an exception', "setImmediate(() => { throw new Error('planted fault'); });"],
])('%s that nobody awaits', async (_, statement) => {
  const server = await nullServer('empty-object', { path: join(folder, `${statement.length}.sock`) });
  const file = join(folder, `${statement.length}.json`);
  await using run = new Running(
    ['check', 'device', '--socket', server.address, '--report', `json=${file}`, '--report', 'pretty'],
    {
      env: { NODE_OPTIONS: `--import=${planted(statement)}` },
    },
  );
  await run.line((line) => line.includes('muster'));
  run.child.kill('SIGUSR2');
  const { code, stderr } = await run.ended;
  expect(stderr).toContain('planted fault');
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
  expect(report.checks.length).toBeGreaterThan(50);
  expect([1, 3]).toContain(code);
  expect(code).toBe(report.exit_code);
  await server.close();
});
