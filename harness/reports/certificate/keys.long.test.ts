import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useScratch } from '../../../simulators/common/testing/scratch.ts';
import { UsageError } from '../../common/usage.ts';
import { generateKey } from './envelope.ts';

const home = useScratch();

test.for([
  ['no key', 16_384],
  ['only the private key', 12_288],
] as const)('a disk with room for %s is left without either file', ([, taken], context) => {
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', home.path]);
  if (status !== 0) context.skip('no file system can be mounted here');
  try {
    writeFileSync(join(home.path, 'fill'), 'x'.repeat(taken));
    expect(() => generateKey(join(home.path, 'key.pem'))).toThrow(UsageError);
    expect(() => generateKey(join(home.path, 'key.pem'))).toThrow(/ENOSPC/);
    expect(readdirSync(home.path)).toEqual(['fill']);
  } finally {
    execFileSync('umount', ['-l', home.path]);
  }
});
