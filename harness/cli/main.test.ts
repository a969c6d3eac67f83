import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Running, useFolder } from './testing/muster.ts';

const root = join(import.meta.dirname, '../..');
const at = useFolder();
const [shell, elsewhere] = [at('shell'), at('elsewhere')];
for (const folder of [shell, elsewhere]) mkdirSync(folder);

/** Environment that npm sets for a script of this checkout, called from the folder `shell`. */
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
