import { createHmac, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { deviceJwtVerifier } from './device-jwt.ts';
import { MemoryPlatform } from './testing/memory-platform.ts';
import { deviceJwt, type RobotKey, robotKey } from './testing/robot-keys.ts';

const START = Date.UTC(2026, 0, 1);

function setUp() {
  const clock = { value: START, now: () => clock.value };
  const platform = new MemoryPlatform(clock);
  const provision = (key: RobotKey) =>
    platform.provision(platform.provisioningToken(), {
      name: key.fingerprint.slice(0, 48),
      agent_version: 'v1',
      public_key_pem: key.publicPem,
      fingerprint: key.fingerprint,
    });
  const verify = deviceJwtVerifier({ deviceByFingerprint: (kid) => platform.deviceByFingerprint(kid), clock });
  const key = robotKey();
  return { clock, verify, key, device: provision(key), provision, platform };
}

describe('the JWT a device signs', () => {
  it('identifies the device by its key', () => {
    const { verify, key, device } = setUp();
    expect(verify(deviceJwt(key, START)).id).toBe(device.id);
  });

  it('is accepted once', () => {
    const { verify, key } = setUp();
    const jwt = deviceJwt(key, START);
    verify(jwt);
    expect(() => verify(jwt)).toThrow(/used before/);
    expect(() => verify(deviceJwt(key, START))).not.toThrow();
  });

  it('may carry an identifier that another device used', () => {
    const { verify, key, provision } = setUp();
    const other = robotKey('other');
    provision(other);
    verify(deviceJwt(key, START, { claims: { jti: 'same' } }));
    expect(() => verify(deviceJwt(other, START, { claims: { jti: 'same' } }))).not.toThrow();
  });

  const key = robotKey();
  const iat = START / 1000;
  const publicAsSecret = (input: Buffer) => createHmac('sha512', key.publicPem).update(input).digest();
  it.each<[string, Parameters<typeof deviceJwt>[2]]>([
    ['no signature algorithm', { header: { alg: 'none' }, signWith: () => Buffer.alloc(1) }],
    ['a shorter hash', { header: { alg: 'RS256' }, signWith: (input) => sign('sha256', input, key.privateKey) }],
    ['the public key as HMAC secret', { header: { alg: 'HS512' }, signWith: publicAsSecret }],
    ['the public key as HMAC secret under RS512', { signWith: publicAsSecret }],
    ['another key', { signWith: (input) => sign('sha512', input, robotKey('other').privateKey) }],
    ['another hash under RS512', { signWith: (input) => sign('sha256', input, key.privateKey) }],
    ['a truncated signature', { signWith: (input) => sign('sha512', input, key.privateKey).subarray(0, 200) }],
    ['an embedded key', { header: { jwk: { kty: 'RSA' } } }],
    ['a key address', { header: { jku: 'http://127.0.0.1/' } }],
    ['a certificate', { header: { x5c: [] } }],
    ['a critical extension', { header: { crit: ['b64'], b64: false } }],
    ['no kid', { header: { kid: undefined } }],
    ['an unknown kid', { header: { kid: '0'.repeat(64) } }],
    ['an uppercase kid', { header: { kid: key.fingerprint.toUpperCase() } }],
    ['a kid that is no text', { header: { kid: [key.fingerprint] } }],
    ['no jti', { claims: { jti: undefined } }],
    ['an empty jti', { claims: { jti: '' } }],
    ['a huge jti', { claims: { jti: 'x'.repeat(129) } }],
    ['a jti that is no text', { claims: { jti: 7 } }],
    ['no iat', { claims: { iat: undefined } }],
    ['no exp', { claims: { exp: undefined } }],
    ['dates that are texts', { claims: { iat: String(iat), exp: String(iat + 120) } }],
    ['a lifetime above two minutes', { claims: { exp: iat + 121 } }],
    ['an exp before its iat', { claims: { exp: iat - 1 } }],
    ['an iat too far ahead', { claims: { iat: iat + 31, exp: iat + 151 } }],
    ['an exp long past', { claims: { iat: iat - 151, exp: iat - 31 } }],
  ])('is refused with %s', (_, change) => {
    const { verify } = setUp();
    expect(() => verify(deviceJwt(key, START, change))).toThrow(expect.objectContaining({ status: 401 }));
  });

  it('is accepted when the clock of the device is half a minute fast or slow', () => {
    const { verify } = setUp();
    expect(() => verify(deviceJwt(key, START + 30_000))).not.toThrow();
    expect(() => verify(deviceJwt(key, START - 150_000))).not.toThrow();
  });

  it.each(['', 'a', 'a.b', 'a.b.c', '..', 'e30.e30.', '\u0000.\u0000.\u0000', 'A'.repeat(10_000)])(
    'is refused when it is %j',
    (text) => {
      const { verify } = setUp();
      expect(() => verify(text)).toThrow(expect.objectContaining({ status: 401 }));
    },
  );
});
