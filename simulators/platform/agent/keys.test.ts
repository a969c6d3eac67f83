import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseDeviceKey } from './keys.ts';
import { robotKey } from './testing/robot-keys.ts';

const refusal = (pem: string, minBits = 2048) => {
  try {
    parseDeviceKey(pem, minBits);
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('public keys of devices', () => {
  it('are accepted from 2048 bits, and identified by the SHA-256 of their SubjectPublicKeyInfo', () => {
    const { publicPem } = robotKey();
    const der = createPublicKey(publicPem).export({ type: 'spki', format: 'der' });
    expect(parseDeviceKey(publicPem, 2048)).toEqual({
      pem: publicPem,
      fingerprint: createHash('sha256').update(der).digest('hex'),
    });
  });

  it('have the same fingerprint in PKCS#1 form and with other line ends', () => {
    const { publicPem, fingerprint } = robotKey();
    const pkcs1 = createPublicKey(publicPem).export({ type: 'pkcs1', format: 'pem' }).toString();
    expect(parseDeviceKey(pkcs1, 2048).fingerprint).toBe(fingerprint);
    expect(parseDeviceKey(publicPem.replaceAll('\n', '\r\n'), 2048).fingerprint).toBe(fingerprint);
  });

  it('are refused below the minimum, which can be lowered', () => {
    const { publicPem } = robotKey('small', 1024);
    expect(refusal(publicPem)).toMatchObject({ status: 400, code: 'invalid_public_key', params: { min_bits: 2048 } });
    expect(refusal(publicPem, 1024)).toBeUndefined();
  });

  it('are refused when they are not RSA', () => {
    const { publicKey } = generateKeyPairSync('ed25519');
    expect(refusal(publicKey.export({ type: 'spki', format: 'pem' }).toString())).toMatchObject({ status: 400 });
  });

  it('are refused when they are private, and the error does not repeat them', () => {
    const pem = robotKey().privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const error = refusal(pem);
    expect(error).toMatchObject({ status: 400 });
    expect(JSON.stringify(error) + String(error)).not.toContain(pem.split('\n')[1]);
  });

  it.each([
    ['nothing', ''],
    ['words', 'not a key'],
    ['an empty PEM', '-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n'],
    ['a broken PEM', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n'],
    ['a huge text', `-----BEGIN PUBLIC KEY-----\n${'A'.repeat(1_000_000)}`],
  ])('are refused when they are %s', (_, pem) => {
    expect(refusal(pem)).toMatchObject({ status: 400 });
  });

  it('are refused with an exponent that makes verifying slow', () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 0x10001 });
    const jwk = publicKey.export({ format: 'jwk' });
    const huge = createPublicKey({ key: { ...jwk, e: Buffer.alloc(200, 0xff).toString('base64url') }, format: 'jwk' });
    expect(refusal(huge.export({ type: 'spki', format: 'pem' }).toString())).toMatchObject({ status: 400 });
  });
});
