/** The loop of somebody who mends an agent: what failed, again and again, as its file changes. */
import { renameSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MAIN, muster, typed, useFolder, useHome } from './testing/muster.ts';

const at = useFolder();
const home = useHome();
/** Shows at the first answer, so that no run waits. */
const DEFECT = '--defect deployment-ids-bare';
const SHAPE = 'device.deployment.shape';

/** Puts an agent in place as a compiler does: written beside, then renamed. */
function build(file: string, options: string): void {
  const words = `simulate device --socket "$1" --control "$2" --dir "$3" --heartbeat 1s ${options}`;
  writeFileSync(`${file}.new`, `#!/bin/sh\nexec ${process.execPath} ${MAIN} ${words}\n`, { mode: 0o755 });
  renameSync(`${file}.new`, file);
}

test('--last-failed runs what the last run against this target left open, and says when there is nothing', async () => {
  const file = at('agent');
  build(file, DEFECT);
  const check = (...more: string[]) =>
    muster(...typed`check device --command ${`${file} {socket} {control} {dir}`} --fast ${more}`);
  const unknown = await check('--last-failed');
  expect(unknown.stderr).toContain('--last-failed: no run against this target is remembered');
  expect(unknown.code).toBe(64);

  const only = ['--only', SHAPE, 'device.version.prefix'];
  expect((await check(...only)).code).toBe(1);
  const again = await check('--last-failed');
  expect(again.stdout).toMatch(/ (\d) of \1 checks\n/);
  expect(again.stdout).toContain(SHAPE);
  expect(again.stdout).toMatch(/left out by --last-failed/);
  expect(again.code).toBe(1);

  build(file, '');
  expect((await check('--last-failed')).code).toBe(0);
  const nothing = await check('--last-failed');
  expect(nothing.stderr).toContain('left nothing failed or undecided; leave it out to run everything');
  expect(nothing.code).toBe(64);
});

test('--watch runs again when the agent changes, and Ctrl+C ends it with what came last', async () => {
  const file = at('watched');
  build(file, DEFECT);
  const run = home.start(typed`check device --command ${`${file} {socket} {control} {dir}`} --only ${SHAPE} --watch`);
  const codes = async (runs: number): Promise<string[]> => {
    await run.said(new RegExp(`(?:Ctrl\\+C ends it with exit \\d+\n[^]*){${runs}}`));
    return [...run.stderr.matchAll(/Ctrl\+C ends it with exit (\d+)\n/g)].map(([, code = '']) => code);
  };
  expect(await codes(1), run.stdout).toEqual(['1']);
  expect(run.stderr).toContain('watching watched: runs again after a change; Ctrl+C ends it with exit 1\n');
  build(file, '--no-such-option');
  expect(await codes(2), run.stdout).toEqual(['1', '2']);
  expect(run.stderr).toContain('changed: watched\n');
  build(file, '');
  expect(await codes(3), run.stdout).toEqual(['1', '2', '0']);
  const { code, stdout } = await run.stop('SIGINT');
  expect(code).toBe(0);
  // The same inputs each time.
  expect(new Set(stdout.match(/seed \d+/g)).size).toBe(1);
});

test('--watch needs a file to look at', async () => {
  const { code, stderr } = await muster(...typed`check device --url http://127.0.0.1:1 --watch`);
  expect(stderr).toContain('--watch: the command line names no file of the target; name one with --watch-file FILE');
  expect(code).toBe(64);
  const missing = await muster(...typed`check device --url http://127.0.0.1:1 --watch-file ${at('none')}`);
  expect(missing.stderr).toContain(`--watch-file ${at('none')}: no such file or folder`);
});
