/** What a report says of the implementation under test. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { TargetDescription } from '../runner/types.ts';
import { concludeIdentity, identityOf } from './identity.ts';
import type { Ran } from './launch/started.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-identity-'));
afterAll(() => rmSync(folder, { recursive: true }));
const artifact = join(folder, 'agent.bin');
writeFileSync(artifact, 'content');
const digest = `sha256:${createHash('sha256').update('content').digest('hex')}`;

test.each<[object, object, Ran | undefined, object]>([
  [{}, {}, undefined, {}],
  [{ name: 'o' }, { name: 'f', version: '2' }, undefined, { name: 'o', version: '2' }],
  [{ artifact }, {}, undefined, { artifact: { name: 'agent.bin', digest } }],
  [{}, {}, { of: 'image', digest: 'sha256:1' }, { digest: 'sha256:1', digest_of: 'image' }],
  [{}, {}, { of: 'executable', name: 'a', digest: 'd' }, { digest: 'd', digest_of: 'executable', executable: 'a' }],
  [{}, {}, { of: 'executable', problem: 'it is a script' }, { digest_missing: 'it is a script' }],
  [{}, {}, { of: 'executable' }, {}],
])('%j with the file %j and %j', (options, file, ran, identity) => {
  expect(identityOf(options, file, ran)).toEqual(identity);
});

test('an artifact that cannot be read is refused', () => {
  expect(() => identityOf({ artifact: '/nonexistent' }, {}, undefined)).toThrow(
    /^artifact \/nonexistent: cannot be read/,
  );
});

test('a digest goes when what ran has changed, and stays when it has not', () => {
  const description = { digest: 'd', digest_of: 'executable' } as TargetDescription;
  concludeIdentity(description, undefined);
  concludeIdentity(description, { of: 'executable', changed: () => undefined });
  expect(description).toEqual({ digest: 'd', digest_of: 'executable' });
  concludeIdentity(description, { of: 'executable', changed: () => 'it was replaced' });
  expect(description).toEqual({ digest_missing: 'it was replaced' });
});
