import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MAIN, muster, typed, useFolder } from './testing/muster.ts';

const at = useFolder();
const SHAPE = 'device.deployment.shape';

test('--last-failed runs only the failed checks of the last run on this target', async () => {
  const file = at('agent');
  const build = (options: string): void => {
    const words = `simulate device --socket "$1" --control "$2" --dir "$3" --heartbeat 1s ${options}`;
    writeFileSync(file, `#!/bin/sh\nexec ${process.execPath} ${MAIN} ${words}\n`, { mode: 0o755 });
  };
  const check = (...more: string[]) =>
    muster(...typed`check device --command ${`${file} {socket} {control} {dir}`} --fast ${more}`);
  build('--defect deployment-ids-bare');
  expect((await check('--only', SHAPE, 'device.version.prefix')).code).toBe(1);
  const again = await check('--last-failed');
  expect(again.stdout).toMatch(/ (\d) of \1 checks\n/);
  expect(again.stdout).toContain(SHAPE);
  expect(again.stdout).toMatch(/left out by --last-failed/);
  expect(again.code).toBe(1);

  build('');
  expect((await check('--last-failed')).code).toBe(0);
});
