import { expect, test } from 'vitest';
import type { TargetDescription } from '../../runner/types.ts';
import { sampleReport } from '../testing/samples.ts';
import { claimsOf, verifyCertificate } from './certificate.ts';
import { certificate, complete, good, publicKey } from './testing/signed.ts';

const [measured, named] = [`sha256:${'c'.repeat(64)}`, `sha256:${'d'.repeat(64)}`];

const artifact = { name: 'agent', digest: named };

const { name: _name, version: _version, ...nameless } = sampleReport().target;

const IMAGE = { ...nameless, kind: 'image', digest: measured, digest_of: 'image' } as const;
const CHANGED = { ...nameless, name: 'a', version: '1', executable: 'a', digest_missing: 'a was changed' };
const WORD_ONLY = 'What was tested is known by what the signer says of it only.';

test.each<[string, TargetDescription, string, string[], RegExp[]]>([
  ['an image', IMAGE, `Muster ran the image with the digest ${measured}.`, [measured], []],
  [
    'an executable',
    { ...nameless, digest: measured, digest_of: 'executable', executable: 'agentd' },
    `Muster executed the file agentd, which had the digest ${measured} before the run and after it.`,
    [measured],
    [/What agentd loads or starts was not measured/],
  ],
  [
    'an executable that is another than the artifact',
    { ...nameless, digest: measured, digest_of: 'executable', executable: 'run.sh', artifact },
    `Muster executed the file run.sh, which had the digest ${measured} before the run and after it.`,
    [measured, named],
    [new RegExp(`The signer names a file agent with the digest ${named}; nothing shows that it is what ran`)],
  ],
  [
    'an artifact alone',
    { ...nameless, artifact },
    WORD_ONLY,
    [named],
    [/Nothing shows which build was tested/, /The signer names a file agent with the digest sha256:d+; nothing shows/],
  ],
  ['a command that changed', CHANGED, WORD_ONLY, [], [/What the command ran has no digest: a was changed/]],
])('%s is claimed only as far as it was measured', (_, target, claim, digests, words) => {
  const text = certificate(complete(good, { target }));
  const statement = verifyCertificate(text, publicKey);
  const { claims, not } = claimsOf(statement);
  expect(claims).toContain(claim);
  for (const word of words) expect(not.join('\n')).toMatch(word);
  for (const digest of [measured, named]) {
    const verify = () => verifyCertificate(text, publicKey, { digest });
    if (digests.includes(digest)) expect(verify()).toEqual(statement);
    else expect(verify).toThrow(/not about/);
  }
});
