import { test } from 'vitest';
import { expectTransparent, KINDS } from './testing/transparency.ts';

test.each(KINDS)('5,000 exchanges on %s are the same with and without a relay', { timeout: 600_000 }, async (kind) => {
  await expectTransparent(kind, 5000);
});
