import { generateKeyPairSync, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Jwt, parseJwt, signHs256, signRs512, verifiedHs256, verifiedRs512 } from './jwt.ts';
import { anyCharacter } from './testing/scratch.ts';

const claims = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true });
const secret = randomBytes(32);
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });

const verified = (text: string, verify: (jwt: Jwt) => boolean): Jwt | undefined => {
  const jwt = parseJwt(text);
  return jwt && verify(jwt) ? jwt : undefined;
};

describe.each([
  ['HS256', async (body: object) => signHs256({ ...body }, secret), (jwt: Jwt) => verifiedHs256(jwt, secret)],
  ['RS512', async (body: object) => signRs512({ ...body }, privateKey, 'k'), (it: Jwt) => verifiedRs512(it, publicKey)],
])('a JWT signed with %s', (alg, sign, verify) => {
  it('keeps the signed claims', async () => {
    await fc.assert(
      fc.asyncProperty(claims, async (body) => {
        const jwt = verified(await sign(body), verify);
        expect(jwt?.header).toMatchObject({ alg, typ: 'JWT' });
        expect(JSON.stringify(jwt?.claims)).toBe(JSON.stringify({ ...body }));
      }),
    );
  });

  it('is invalid when a signed character is changed', async () => {
    const token = await sign({ sub: 'dvc_1', exp: 2_000_000_000 });
    const signedLength = token.lastIndexOf('.');
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: signedLength - 1 }), fc.constantFrom(...'aZ09-_.'), async (at, character) => {
        fc.pre(token[at] !== character);
        expect(verified(token.slice(0, at) + character + token.slice(at + 1), verify)).toBeUndefined();
      }),
    );
  });

  it('is invalid with another algorithm or key', async () => {
    const token = await sign({ sub: 'dvc_1' });
    const others: ((jwt: Jwt) => boolean)[] = [
      (jwt) => verifiedHs256(jwt, randomBytes(32)),
      (jwt) => verifiedRs512(jwt, generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey),
      (jwt) => (alg === 'HS256' ? verifiedRs512(jwt, publicKey) : verifiedHs256(jwt, secret)),
    ];
    for (const other of others) expect(verified(token, other)).toBeUndefined();
  });
});

describe('parsing', () => {
  it('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => void parseJwt(text)));
  });

  it.each(['', 'a.b', 'W10.W10.AA', 'bnVsbA.e30.AA', '{}.{}.', 'e30.e30.AA '])('refuses %j', (text) => {
    expect(parseJwt(text)).toBeUndefined();
  });
});
