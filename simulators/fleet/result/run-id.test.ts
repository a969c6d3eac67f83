import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { announcedRun, announceRun, NoRunError } from './run-id.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-run-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));
const signal = new AbortController().signal;

it('is taken from an announcement while that is renewed', async () => {
  using _ = announceRun(dir, 'monday');
  expect(await announcedRun(dir, 60_000, signal)).toBe('monday');
});

it('is not taken from an announcement that nobody renews', async () => {
  writeFileSync(join(dir, 'run.json'), JSON.stringify({ run_id: 'dead', beat: 7 }));
  await expect(announcedRun(dir, 300, signal)).rejects.toThrow(NoRunError);
});
