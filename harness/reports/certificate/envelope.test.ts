import { generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { dsse } from '@sigstore/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifyCertificate } from './certificate.ts';
import { keyId, openEnvelope, parseStrict, preAuthenticationEncoding, Refused, sealEnvelope } from './envelope.ts';
import { statementOf } from './statement.ts';
import { certificate, complete, privateKey, publicKey, suites } from './testing/signed.ts';

test('an independent implementation of the envelope verifies the signature', () => {
  const { payloadType, payload, signatures } = JSON.parse(certificate());
  const signed = dsse.preAuthEncoding(payloadType, Buffer.from(payload, 'base64'));
  expect(verify(null, signed, publicKey, Buffer.from(signatures[0].sig, 'base64'))).toBe(true);
  expect(signed.equals(preAuthenticationEncoding(payloadType, Buffer.from(payload, 'base64')))).toBe(true);
});

const refusesFlips = (text: string, numRuns: number): void =>
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.nat(7), (at, bit) => refusesFlip(text, at, 1 << bit)),
    { numRuns },
  );

function refusesFlip(text: string, at: number, mask: number): void {
  const changed = Buffer.from(text);
  changed[at] = (changed[at] ?? 0) ^ mask;
  expect(() => verifyCertificate(changed.toString('latin1'), publicKey), `byte ${at}, mask ${mask}`).toThrow(Refused);
}

test('a flipped bit in any byte is refused', () => {
  const text = certificate();
  for (let at = 0; at < text.length; at += 1) refusesFlip(text, at, 0x01);
  refusesFlips(text, 500);
});

test('an inserted or removed byte is refused, or changes only the layout', () => {
  const text = certificate();
  const statement = verifyCertificate(text, publicKey);
  const sameOrRefused = (changed: string): void => {
    try {
      expect(verifyCertificate(changed, publicKey)).toEqual(statement);
    } catch (error) {
      expect(error).toBeInstanceOf(Refused);
    }
  };
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.constantFrom(' ', '\n', 'A', '=', '"', ','), (at, extra) => {
      sameOrRefused(text.slice(0, at) + text.slice(at + 1));
      sameOrRefused(text.slice(0, at) + extra + text.slice(at));
    }),
    { numRuns: 1000 },
  );
});

test('line ends, layout and the hint of the key may vary', () => {
  const statement = verifyCertificate(certificate(), publicKey);
  const { payloadType, payload, signatures } = JSON.parse(certificate());
  const [{ keyid, sig }] = signatures;
  const others = [
    certificate().replaceAll('\n', '\r\n'),
    JSON.stringify({ signatures: [{ sig, keyid }], payload, payloadType }),
    JSON.stringify({ payloadType, payload, signatures: [{ sig }] }),
  ];
  for (const text of others) expect(verifyCertificate(text, publicKey)).toEqual(statement);
  refusesFlips(others[2] ?? '', 1000);
  const other = generateKeyPairSync('ed25519').publicKey;
  expect(() => verifyCertificate(others[2] ?? '', other)).toThrow(/the signature does not fit/);
  const foreign = JSON.stringify({ payloadType, payload, signatures: [{ keyid: keyId(other), sig }] });
  expect(() => verifyCertificate(foreign, publicKey)).toThrow(/not signed by this key/);
});

test('a repeated member name is refused, in the envelope and in its payload', () => {
  const twice = certificate().replace('"payload":', '"payload": "e30=", "payload":');
  expect(() => verifyCertificate(twice, publicKey)).toThrow(/an object has "payload" twice/);
  const inside = JSON.stringify(statementOf(complete(), suites)).replace('"result":', '"result":"PASSED","result":');
  expect(() => verifyCertificate(sealEnvelope(Buffer.from(inside), privateKey), publicKey)).toThrow(/"result" twice/);
});

test('a signature by another key is refused, alone or beside a valid one', () => {
  const other: KeyObject = generateKeyPairSync('ed25519').privateKey;
  const payload = openEnvelope(certificate(), publicKey);
  expect(() => verifyCertificate(sealEnvelope(payload, other), publicKey)).toThrow(/not signed by this key/);
  const both = JSON.parse(certificate());
  both.signatures.push(JSON.parse(sealEnvelope(payload, other)).signatures[0]);
  expect(() => verifyCertificate(`${JSON.stringify(both, null, 2)}\n`, publicKey)).toThrow(/by this key alone/);
});

test.each([
  '{"a":1,"a":2}',
  '{"a":1,"b":{},"a":1}',
  '[{"x":{"a":[{"a":1},{"b":1,"b":2}]}}]',
  '{"a":1,"\\u0061":2}',
  '{"":1,"":2}',
  '{"a":"},{","b":[1,"]"],"a":0}',
])('%s is refused', (text) => {
  expect(() => parseStrict(text)).toThrow(/twice/);
});

test('the strict parser agrees with JSON.parse on all other texts', () => {
  const repeated = [{ a: 1 }, { a: 1 }, ['a', 'a'], { b: 'a', a: 'b' }];
  expect(parseStrict(JSON.stringify(repeated))).toEqual(repeated);
  expect(() => parseStrict('{"a":1')).toThrow(SyntaxError);
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 2), (text, indent) => {
      const written = JSON.stringify(JSON.parse(text), null, indent);
      expect(parseStrict(written)).toEqual(JSON.parse(written));
    }),
  );
});
