import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PLATFORM_PACKAGES, packageName } from '../common/platform-packages.ts';
import { EXIT } from '../common/usage.ts';
import { Running, useFolder, withoutPackages } from './testing/muster.ts';

const root = join(import.meta.dirname, '../..');
const at = useFolder();
const [shell, elsewhere] = [at('shell'), at('elsewhere')];
for (const folder of [shell, elsewhere]) mkdirSync(folder);

/** Environment that npm sets for a script of this checkout when called from `shell`. */
const npm = { npm_lifecycle_event: 'muster', npm_package_json: join(root, 'package.json'), INIT_CWD: shell };

test.each<[string, Record<string, string>, string, string]>([
  ['the shell of npm run muster', npm, root, shell],
  ['its own folder below another script', { ...npm, npm_lifecycle_event: 'test' }, elsewhere, elsewhere],
  ['its own folder when it was started from a script', npm, elsewhere, elsewhere],
  ['its own folder below npm of another', { ...npm, npm_package_json: '/x/package.json' }, elsewhere, elsewhere],
])('a relative path is resolved in %s', async (what, env, cwd, expected) => {
  const file = `${what.replaceAll(' ', '-')}.pem`;
  const { code, stderr } = await new Running(['keygen', file], { env, cwd }).ended;
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(existsSync(join(expected, file))).toBe(true);
});

test('help loads no command', async () => {
  const listing =
    `import{registerHooks}from'node:module';const ` +
    'seen=[];registerHooks({load(url,context,next){seen.push(url);return ' +
    `next(url,context)}});process.on('exit',()=>process.stderr.write(seen.join('\\n')))`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(listing)}` };
  const { stdout, stderr, code } = await new Running(['--help'], { env }).ended;
  const loaded = stderr.split('\n').filter((url) => url.startsWith('file:'));
  expect(stdout).toContain('Commands:');
  expect(code).toBe(0);
  expect(loaded.some((url) => url.endsWith('/harness/cli/main.ts'))).toBe(true);
  const parts = /\/(suites|simulators|harness\/(runner|client|targets|reports)|cli\/commands)\//;
  // Allows `errors.ts`, which imports nothing.
  expect(loaded.filter((url) => parts.test(url) && !url.endsWith('/harness/client/errors.ts'))).toEqual([]);
});

test.concurrent.each([
  'simulate platform',
  'fleet --robots 1 --platform embedded --out fleet',
  'fleet --robots 1 --uplink none --out fleet',
  'check platform --url http://127.0.0.1:1/beta --api-key key --dry-run',
  'check system --command true',
  'check device --command true --control platform',
  'mutate client --api platform --command true',
  'simulate device --dir robot --socket robot.sock --uplink agent --platform http://localhost:1',
  'simulate device --dir robot --socket r.sock --uplink polling --platform http://localhost:1 --token x --ui',
])('without the packages of a platform, `muster %s` says how to install them', async (line) => {
  const env = withoutPackages(...PLATFORM_PACKAGES.map(packageName));
  const { stderr, code } = await new Running(line.split(' '), { env, cwd: elsewhere }).ended;
  const advice = 'Run: npm install --save-dev aedes@1 fastify@5 mqtt@5 mqtt-packet@9';
  expect(stderr).toMatch(new RegExp(`^muster: \\S+ is not installed: [^\\n]+ ${advice}\\n$`, 'm'));
  expect(stderr).not.toContain('node:internal');
  expect(code).toBe(EXIT.harness);
});
