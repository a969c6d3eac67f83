/** The command as a whole, with its exit codes: 0 conformant, 1 a MUST failed, 2 incomplete, 3 Muster itself failed, 64 usage error. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { validate } from 'ctrf';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { referenceBehaviour, simulateDevice } from '../../simulators/device/index.ts';
import { muster } from './testing/muster.ts';
import { jsonProblems, junitProblems } from './testing/valid.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-check-'));
const good = join(folder, 'good.sock');
const bad = join(folder, 'bad.sock');
const at = (name: string): string => join(folder, name);
const closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  for (const [socket, change] of [
    [good, {}],
    [bad, { http: { ...referenceBehaviour.http, deploymentBody: (shown: object) => ({ ...shown, status: 'fine' }) } }],
  ] as const) {
    const device = await simulateDevice({
      dir: `${socket}.dir`,
      socket,
      behaviour: { ...referenceBehaviour, ...change },
    });
    closers.push(() => device[Symbol.asyncDispose]());
    await device.deploy({});
  }
});
afterAll(async () => {
  await Promise.all(closers.map((close) => close()));
  rmSync(folder, { recursive: true, force: true });
});

const shape = ['--only', 'device.deployment.shape'];

test('0: what ran holds, and the report says what was left out', async () => {
  const { code, stdout: out } = await muster('check', 'device', '--socket', good, ...shape, '--verbose');
  expect(code).toBe(0);
  expect(out).toMatch(/✓ 2.1 .*\n +✓ device.deployment.shape\n/);
  expect(out).toMatch(/NO FAILURE FOUND {2}1 passed(.|\n)*left out: --only device.deployment.shape/);
});

test('1: a MUST fails, and every report says so', async () => {
  const files = ['json', 'junit', 'ctrf', 'html'].map((format) => `${format}=${at(`bad.${format}`)}`);
  const reports = ['pretty', ...files].flatMap((spec) => ['--report', spec]);
  const { code, stdout: out } = await muster('check', 'device', '--socket', bad, ...shape, ...reports);
  expect(code).toBe(1);
  expect(out).toMatch(/✗ device.deployment.shape {2}MUST · section 2.1 Deployment/);
  expect(out).toMatch(
    /try +curl -s -i --max-time 10 --unix-socket \S+bad.sock http:\/\/localhost\/v0.2\/deployments\/current/,
  );
  expect(out).toMatch(/NOT CONFORMANT {2}1 failed/);
  for (const format of ['json', 'junit', 'ctrf', 'html']) {
    expect(readFileSync(at(`bad.${format}`), 'utf8')).toContain('device.deployment.shape');
  }
  const text = (format: string): string => readFileSync(at(`bad.${format}`), 'utf8');
  expect(jsonProblems('report.schema.json', text('json'))).toEqual([]);
  expect(await junitProblems(text('junit'))).toEqual([]);
  expect(validate(JSON.parse(text('ctrf')))).toMatchObject({ valid: true });
});

test('a baseline excuses it; when it holds again, the entry is red', async () => {
  const baseline = ['--baseline', at('known.yaml')];
  const first = await muster('check', 'device', '--socket', bad, ...shape, ...baseline, '--update-baseline');
  expect(first.stdout).toMatch(/Known 1\n {2}found on \d{4}-/);
  expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('excuses 1 checks') });
  const fixed = await muster('check', 'device', '--socket', good, ...shape, ...baseline);
  expect(fixed.code).toBe(2);
  expect(fixed.stdout).toMatch(/Stale in the baseline 1\n {2}holds now: remove it from the baseline/);
});

test('2: nothing answers, which is said with what to try', async () => {
  const { code, stdout: out } = await muster('check', 'device', '--socket', at('none.sock'), ...shape);
  expect(code).toBe(2);
  expect(out).toMatch(/Not reached\n(.|\n)*no such socket(.|\n)*\n {2}Try: curl --unix-socket \S+ http\S+\n/);
  expect(out).toMatch(/INCOMPLETE {2}\d+ ms\nexit 2: the target could not be reached/);
  expect(out.split('\n').length).toBeLessThan(14);
});

test('3: a failure of Muster itself is not blamed on the target', async () => {
  const { code, stderr: err } = await muster(
    'check',
    'device',
    '--socket',
    good,
    ...shape,
    '--report',
    'json=/dev/full',
  );
  expect(code).toBe(3);
  expect(err).toContain('ENOSPC');
  expect(existsSync('/dev/full')).toBe(true);
});

test('64: a usage error names the option and what is accepted', async () => {
  const { code, stderr: err } = await muster('check', 'device', '--socket', 'a', '--only', 'device.deployment.shap');
  expect(err).toMatch(/--only device.deployment.shap: .*did you mean device.deployment.shape/);
  expect(code).toBe(64);
});
