import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { scratch } from '../../simulators/common/testing/scratch.ts';
import { beginsWithCi, expectOutputsIn, runReadme } from './testing/readme.ts';

const ROOT = join(import.meta.dirname, '../..');

it('the commands of the README work from top to bottom', { timeout: 1_200_000 }, async () => {
  expect(beginsWithCi).toBe(true);
  using home = scratch();
  for (const name of readdirSync(ROOT)) {
    if (name !== '.git' && name !== '.muster') symlinkSync(join(ROOT, name), join(home.path, name));
  }
  const { said, ends, expected } = await runReadme(home.path, process.env);
  expect(ends, said).toEqual(expected);
  expectOutputsIn(said);
});
