/** Wrong use that the parser alone would let pass, or call by names that nobody typed. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { muster, Running } from './testing/muster.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-wrong-use-'));
afterAll(() => rmSync(folder, { recursive: true }));

it.each([
  [['check', 'device', '--socket', 'a', '--socket', 'a'], '--socket: given twice; accepted: once'],
  [['check', 'device', '--profile', 'core', '--profile', 'full'], '--profile: given twice; accepted: once'],
  [['fleet', '--out', 'a', '--out', 'b'], '--out: given twice; accepted: once'],
  [['check', 'device', '--socket'], '--socket: needs a value'],
  [['check', 'device', '--socket', ''], '--socket: needs a value'],
  [['check', 'device', '--socket='], '--socket: needs a value'],
  [['check', 'device', '--socket', 'a', '--only'], '--only: needs a value'],
  [['check', 'device', '--socket', 'a', '--name', ''], '--name: needs a value'],
  [['check', 'device', '--socket', 'a', '--patience', '--fast'], '--patience: needs a value'],
  [['check', 'device', '--no-socket'], '--no-socket: no such option'],
  [['check', 'device', '--socket', 'a', '--fast=maybe'], '--fast: takes no value'],
  [['check', 'device', '--socket', 'a', '--patience', '3000000'], '--patience: must be a number above 0, up to 3600'],
  [['check', 'device', '--socket', 'a', '--patience', '1e99'], '--patience: must be a number above 0, up to 3600'],
  [['check', 'device', '--socket', 'a', '--runs', '1e99'], '--runs: must be a number above 0, up to 10000'],
  [['fleet', '--robots'], '--robots: needs a value'],
  [['fleet', '--robots='], '--robots: needs a value'],
  [['fleet', '--robots', 'abc'], '--robots: must be a number'],
  [['fleet', '--robts', '3'], '--robts: no such option; did you mean --robots?'],
  [['simulate', 'platform', '--port', '1', '--port', '1'], '--port: given twice; accepted: once'],
  [['simulate', 'device', '--socket', 'a'], '--dir: missing'],
  [['keygen', ''], 'FILE: must not be empty'],
  [['explain'], 'explain: ID is missing\nTry: muster explain --help'],
  [['merge'], 'merge: DIR is missing'],
  [['check', 'devise'], 'check devise: no such command; did you mean device?\nTry: muster check --help'],
  [['chek', 'device'], 'chek: no such command; did you mean check?\nTry: muster --help'],
  [['report', '--help'], 'report: no such command; there are demo, check'],
  [['help', 'flet'], 'flet: no such command; did you mean fleet?'],
])('%j is refused, and named', async (words, said) => {
  const { code, stderr, stdout } = await new Running(words, { cwd: folder }).ended;
  expect(stderr).toContain(`muster: ${said}`);
  expect(stdout).toBe('');
  expect(code).toBe(64);
});

it('help is a command as well', async () => {
  const { code, stdout } = await muster('help', 'fleet');
  expect(stdout).toContain('muster fleet');
  expect(stdout).toContain('--robots');
  expect(code).toBe(0);
});

it('help goes before what is wrong', async () => {
  const { code, stdout } = await muster('check', 'device', '--socket', 'a', '--socket', 'a', '--help');
  expect(stdout).toContain('--discovery');
  expect(code).toBe(0);
});

it('help names what belongs to a command by its own name', async () => {
  const { stdout } = await muster('replay', '--help');
  expect(stdout).toMatch(/Positionals:\n\s+file /);
  expect(stdout).not.toContain('--file');
});

it('a reader that has read enough is no trouble', async () => {
  const cli = fileURLToPath(new URL('./main.ts', import.meta.url));
  const line = `set -o pipefail; "$0" "$1" list --json | head -c 1`;
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line, process.execPath, cli]);
  expect(stdout).toBe('{');
  expect(stderr).toBe('');
});

it.each([
  ['40', 40],
  ['300', 100],
])('help is as wide as COLUMNS=%s says, up to 100', async (COLUMNS, most) => {
  const { stdout } = await new Running(['--help'], { env: { COLUMNS } }).ended;
  const widest = Math.max(...stdout.split('\n').map((line) => line.length));
  expect(widest).toBeLessThanOrEqual(most);
  expect(widest).toBeGreaterThan(most - 20);
});
