import { createHash, createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deviceJwtVerifier, parseDeviceKey, replayGuard, sessionTokens } from './credentials.ts';
import { deviceJwt, type RobotKey, robotKey } from './testing/agent-host.ts';
import { MemoryPlatform } from './testing/memory-platform.ts';

const START = Date.UTC(2026, 0, 1);

const credentialsOf = ({ publicPem: public_key_pem, fingerprint }: RobotKey) => {
  return { agent_version: 'v1', public_key_pem, fingerprint };
};

function setUp() {
  const clock = { value: START, now: () => clock.value };
  const platform = new MemoryPlatform(clock);
  const provision = (key: RobotKey) => platform.enrolled(key.fingerprint.slice(0, 48), credentialsOf(key));
  const verify = deviceJwtVerifier({ deviceByFingerprint: (kid) => platform.deviceByFingerprint(kid), clock });
  const key = robotKey();
  const options = { deviceById: (id: string) => platform.deviceById(id), issuer: 'service', clock, lifetimeMs: 60_000 };
  const [tokens, others] = [sessionTokens(options), sessionTokens(options)];
  return { clock, verify, key, device: provision(key), provision, platform, tokens, others };
}

describe('the JWT a device signs', () => {
  it('identifies the device by its key, and is accepted once', () => {
    const { verify, key, device } = setUp();
    const jwt = deviceJwt(key, START);
    expect(verify(jwt).id).toBe(device.id);
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
    ['the public key as HMAC secret', { header: { alg: 'HS512' }, signWith: publicAsSecret }],
    ['another key', { signWith: (input) => sign('sha512', input, robotKey('other').privateKey) }],
    ['another hash under RS512', { signWith: (input) => sign('sha256', input, key.privateKey) }],
    ['an embedded key', { header: { jwk: { kty: 'RSA' } } }],
    ['a key address', { header: { jku: 'http://127.0.0.1/' } }],
    ['a certificate', { header: { x5c: [] } }],
    ['a critical extension', { header: { crit: ['b64'], b64: false } }],
    ['no kid', { header: { kid: undefined } }],
    ['an unknown kid', { header: { kid: '0'.repeat(64) } }],
    ['an uppercase kid', { header: { kid: key.fingerprint.toUpperCase() } }],
    ['no jti', { claims: { jti: undefined } }],
    ['an empty jti', { claims: { jti: '' } }],
    ['a huge jti', { claims: { jti: 'x'.repeat(129) } }],
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

  it.each([
    ...['', 'a', 'a.b', 'a.b.c', '..', 'e30.e30.', '\u0000.\u0000.\u0000', 'A'.repeat(10_000)],
    ...['W10.W10.AA', 'bnVsbA.e30.AA', '{}.{}.', 'e30.e30.AA '],
  ])('is refused when it is %j', (text) => {
    const { verify } = setUp();
    expect(() => verify(text)).toThrow(expect.objectContaining({ status: 401 }));
  });
});

it('the replay guard refuses a used identifier until its lifetime is over, and admits it after that', () => {
  const step = fc.record({ wait: fc.integer({ min: 0, max: 150 }), id: fc.integer({ min: 0, max: 5 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let now = 0;
      const admit = replayGuard({ clock: { now: () => now }, lifetimeMs: 100 });
      const admittedAt = new Map<number, number>();
      for (const { wait, id } of steps) {
        now += wait;
        const age = now - (admittedAt.get(id) ?? Number.NEGATIVE_INFINITY);
        const admission = admit(String(id));
        if (age < 100) expect(admission).toBe('replayed');
        if (age >= 300) expect(admission).toBe('new');
        if (admission === 'new') admittedAt.set(id, now);
      }
    }),
  );
});

it('the replay guard refuses new identifiers when it is full, and still detects used ones', () => {
  const admit = replayGuard({ clock: { now: () => 0 }, lifetimeMs: 100, capacity: 2 });
  expect(['a', 'b', 'c', 'a'].map((id) => admit(id))).toEqual(['new', 'new', 'full', 'replayed']);
});

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
      public_key_pem: publicPem,
      fingerprint: createHash('sha256').update(der).digest('hex'),
    });
  });

  it('have the same fingerprint in PKCS#1 form and with other line ends', () => {
    const { publicPem, fingerprint } = robotKey();
    const pkcs1 = createPublicKey(publicPem).export({ type: 'pkcs1', format: 'pem' }).toString();
    expect(parseDeviceKey(pkcs1, 2048).fingerprint).toBe(fingerprint);
    expect(parseDeviceKey(publicPem.replaceAll('\n', '\r\n'), 2048).fingerprint).toBe(fingerprint);
  });

  it('are refused below a configurable minimum of bits', () => {
    const { publicPem } = robotKey('small', 1024);
    expect(refusal(publicPem)).toMatchObject({ status: 400, code: 'invalid_public_key', params: { min_bits: 2048 } });
    expect(refusal(publicPem, 1024)).toBeUndefined();
  });

  it('are refused when they are private, and the error hides their content', () => {
    const pem = robotKey().privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const error = refusal(pem);
    expect(error).toMatchObject({ status: 400 });
    expect(JSON.stringify(error) + String(error)).not.toContain(pem.split('\n')[1]);
  });

  const pemOf = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString();
  const jwk = createPublicKey(robotKey().publicPem).export({ format: 'jwk' });
  const slow = { ...jwk, e: Buffer.alloc(200, 0xff).toString('base64url') };
  it.each([
    ['not RSA', pemOf(generateKeyPairSync('ed25519').publicKey)],
    ['of an exponent that makes verifying slow', pemOf(createPublicKey({ key: slow, format: 'jwk' }))],
    ['nothing', ''],
    ['words', 'not a key'],
    ['an empty PEM', '-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n'],
    ['a broken PEM', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n'],
    ['a huge text', `-----BEGIN PUBLIC KEY-----\n${'A'.repeat(1_000_000)}`],
  ])('are refused when they are %s', (_, pem) => {
    expect(refusal(pem)).toMatchObject({ status: 400 });
  });
});

const decode = (part: string | undefined) => JSON.parse(Buffer.from(part ?? '', 'base64url').toString());

it('a device token is a JWT with the published claims, and is issued with its expiry', () => {
  const { tokens, device, clock } = setUp();
  const { token, expires_at } = tokens.issue(device);
  const iat = clock.now() / 1000;
  expect(decode(token.split('.')[0])).toEqual({ typ: 'JWT', alg: 'HS256' });
  expect(decode(token.split('.')[1])).toEqual({ iss: 'service', aud: 'device', sub: device.id, iat, exp: iat + 60 });
  expect(expires_at).toBe('2026-01-01T00:01:00.000Z');
  expect(tokens.verify(token)?.id).toBe(device.id);
});

it('a device token is valid until its expiry', () => {
  const { tokens, device, clock } = setUp();
  const { token } = tokens.issue(device);
  clock.value += 59_999;
  expect(tokens.verify(token)).toBeDefined();
  clock.value += 1;
  expect(tokens.verify(token)).toBeUndefined();
});

it('a device token ends when the device is reprovisioned, archived or deleted', () => {
  const { tokens, device, platform, key } = setUp();
  const { token } = tokens.issue(device);
  platform.reprovision(platform.provisioningToken(device.id), credentialsOf(key));
  expect(tokens.verify(token)).toBeUndefined();
  const renewed = tokens.issue(device).token;
  expect(tokens.verify(renewed)).toBeDefined();
  device.status = 'archived';
  expect(tokens.verify(renewed)).toBeUndefined();
  platform.devices.delete(device.id);
  expect(tokens.verify(renewed)).toBeUndefined();
});

it('a device token is refused by another platform, and after any change', () => {
  const { tokens, others, device } = setUp();
  const { token } = tokens.issue(device);
  const [header, claims, signature] = token.split('.');
  const forged = Buffer.from(JSON.stringify({ ...decode(claims), exp: 9e9 })).toString('base64url');
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  expect(others.verify(token)).toBeUndefined();
  expect(tokens.verify(`${header}.${forged}.${signature}`)).toBeUndefined();
  expect(tokens.verify(`${none}.${claims}.${signature}`)).toBeUndefined();
  expect(tokens.verify(`${header}.${claims}.`)).toBeUndefined();
  expect(tokens.verify(`${token}A`)).toBeUndefined();
  expect(tokens.verify('x'.repeat(5000))).toBeUndefined();
  fc.assert(
    fc.property(fc.nat({ max: token.lastIndexOf('.') - 1 }), fc.constantFrom(...'aZ09-_.'), (at, character) => {
      fc.pre(token[at] !== character);
      expect(tokens.verify(token.slice(0, at) + character + token.slice(at + 1))).toBeUndefined();
    }),
  );
});
