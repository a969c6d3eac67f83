/** Runs the commands of the README in a checkout. */
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { beginsWithCi, expectOutputsIn, runReadme } from './testing/readme.ts';

const ROOT = join(import.meta.dirname, '../..');

it('the commands of the README work from top to bottom', { timeout: 1_200_000 }, async () => {
  expect(beginsWithCi).toBe(true);
  const home = mkdtempSync(join(tmpdir(), 'muster-readme-'));
  try {
    for (const name of readdirSync(ROOT)) {
      if (name !== '.git' && name !== '.muster') symlinkSync(join(ROOT, name), join(home, name));
    }
    const { said, ends, expected } = await runReadme(home, process.env);
    expect(ends, said).toEqual(expected);
    expectOutputsIn(said);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
