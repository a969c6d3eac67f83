import { expect, it } from 'vitest';
import { Running } from './testing/muster.ts';

it('help is printed by the process, which ends with 0, and loads no command', async () => {
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
  // The classes of errors load nothing else.
  expect(loaded.filter((url) => parts.test(url) && !url.endsWith('/harness/client/errors.ts'))).toEqual([]);
});

it('an error that nobody awaits is a failure of Muster, not of the target', async () => {
  const stray = `process.once('beforeExit',()=>void Promise.reject(new Error('stray')))`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(stray)}` };
  const { stderr, code } = await new Running(['--version'], { env }).ended;
  expect(stderr).toContain('muster: Error: stray');
  expect(code).toBe(3);
});
