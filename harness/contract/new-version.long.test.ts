/** Adds a version to a copy of the sources, by one line of the table, and runs the platform suite on it. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const NEW = '2099-01-01.atlantis';
const run = promisify(execFile);

interface Outcome {
  pass: string[];
  fail: string[];
  blocked: string[];
  target: { capabilities: string[] };
}

/** Opens the simulated platform and prints the ids of checks by outcome. */
const SCRIPT = `
import { check, openPlatform, platformSuite } from './harness/cli/library.ts';
import { simulatePlatform } from './simulators/index.ts';

await using platform = await simulatePlatform({ devices: 30 });
const open = () => openPlatform({ url: platform.url, apiKey: platform.apiKey, apiVersion: '${NEW}' });
const report = await check(platformSuite, open, { fast: true });
const ids = (outcome) => report.checks.filter((one) => one.outcome === outcome).map(({ id }) => id);
console.log(JSON.stringify({ pass: ids('pass'), fail: ids('fail'), blocked: ids('blocked'), target: report.target }));
process.exit(0);
`;

let copy: string;
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'muster-version-'));
  for (const name of ['harness', 'simulators', 'suites', 'fixtures', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const table = join(copy, 'harness/contract/versions.ts');
  const before = readFileSync(table, 'utf8');
  const after = before.replace(
    /(\{ id: '2026-08-17\.everglades', status: 'supported' \},\n)/,
    `$1  { id: '${NEW}', status: 'supported' },\n`,
  );
  expect(after).not.toBe(before);
  writeFileSync(table, after);
  writeFileSync(join(copy, 'check.ts'), SCRIPT);
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

it('needs no other line to compile', async () => {
  await expect(run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', copy])).resolves.toMatchObject({ stdout: '' });
});

it('is served, spoken and checked like the others', async () => {
  const { stdout } = await run(process.execPath, ['check.ts'], { cwd: copy });
  const { pass, fail, blocked, target } = JSON.parse(stdout) as Outcome;
  expect({ fail, blocked }).toEqual({ fail: [], blocked: [] });
  expect(target.capabilities).toContain('atlantis');
  expect(pass).toEqual(
    expect.arrayContaining([
      ...['platform.version.supported.atlantis', 'platform.provisioning-token.atlantis'],
      ...['platform.device.expand.atlantis', 'platform.config-instance.yaml.atlantis', 'platform.group.tree'],
    ]),
  );
});
