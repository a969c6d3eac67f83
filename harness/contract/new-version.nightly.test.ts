/** Adds an API version with one new field to a copy of the sources, and runs the platform suite on the copy. */
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

const SCRIPT = `
import { check, openPlatform, platformSuite } from './harness/cli/library.ts';
import { simulatePlatform } from './simulators/index.ts';

await using platform = await simulatePlatform({ devices: 30 });
const open = () => openPlatform({ url: platform.url, apiKey: platform.apiKey, apiVersion: '${NEW}' });
const report = await check(platformSuite, open, { fast: true });
const deviceIn = async (version) => {
  const headers = { 'x-api-key': platform.apiKey, 'service-version': version };
  const page = await (await fetch(platform.url + '/devices?limit=1', { headers })).json();
  return page.data[0];
};
const sites = ['site' in (await deviceIn('2026-08-17.everglades')), (await deviceIn('${NEW}')).site];
const ids = (outcome) => report.checks.filter((one) => one.outcome === outcome).map(({ id }) => id);
const { target } = report;
console.log(JSON.stringify({ pass: ids('pass'), fail: ids('fail'), blocked: ids('blocked'), sites, target }));
process.exit(0);
`;

let copy: string;
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'muster-version-'));
  for (const name of ['harness', 'simulators', 'suites', 'fixtures', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const added = `$1  { id: '${NEW}', status: 'supported' },\n`;
  edit('harness/contract/versions.ts', /(\{ id: '2026-08-17\.everglades'.*\n)/, added);
  const device = 'harness/contract/platform/device.ts';
  edit(device, /(\n {2}group_id: nullable\(.*\n)/, `$1  site: nullable(Type.String()),\n`);
  edit(device, /(group_id: 'everglades')( \}\))/, "$1, site: 'atlantis'$2");
  writeFileSync(join(copy, 'check.ts'), SCRIPT);
});

function edit(path: string, place: RegExp, by: string): void {
  const file = join(copy, path);
  const before = readFileSync(file, 'utf8');
  const after = before.replace(place, by);
  expect(after, path).not.toBe(before);
  writeFileSync(file, after);
}
afterAll(() => rmSync(copy, { recursive: true, force: true }));

it('a new API version compiles without changes to other files', async () => {
  await expect(run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', copy])).resolves.toMatchObject({ stdout: '' });
});

it('a new API version is served and checked like the others', async () => {
  const { stdout } = await run(process.execPath, ['check.ts'], { cwd: copy });
  const { pass, fail, blocked, sites, target } = JSON.parse(stdout);
  expect({ fail, blocked }).toEqual({ fail: [], blocked: [] });
  expect(sites).toEqual([false, null]);
  expect(target.capabilities).toContain('atlantis');
  expect(pass).toEqual(
    expect.arrayContaining([
      ...['platform.version.supported.atlantis', 'platform.provisioning-token.atlantis'],
      ...['platform.device.expand.atlantis', 'platform.config-instance.yaml.atlantis', 'platform.group.tree'],
    ]),
  );
});
