import { describe, expect, it } from 'vitest';
import { sessionTokens } from './session-tokens.ts';
import { MemoryPlatform } from './testing/memory-platform.ts';
import { robotKey } from './testing/robot-keys.ts';

function setUp() {
  const clock = { value: Date.UTC(2026, 0, 1), now: () => clock.value };
  const platform = new MemoryPlatform(clock);
  const { publicPem: public_key_pem, fingerprint } = robotKey();
  const credentials = { agent_version: 'v1', public_key_pem, fingerprint };
  const device = platform.provision(platform.provisioningToken(), { name: 'r', ...credentials });
  const options = { deviceById: (id: string) => platform.deviceById(id), issuer: 'service', clock, lifetimeMs: 60_000 };
  return { clock, platform, device, credentials, tokens: sessionTokens(options), others: sessionTokens(options) };
}

const decode = (part: string | undefined) => JSON.parse(Buffer.from(part ?? '', 'base64url').toString());

describe('a device token', () => {
  it('is a JWT with the published claims, and is issued with its expiry', () => {
    const { tokens, device, clock } = setUp();
    const { token, expires_at } = tokens.issue(device);
    const iat = clock.now() / 1000;
    expect(decode(token.split('.')[1])).toEqual({ iss: 'service', aud: 'device', sub: device.id, iat, exp: iat + 60 });
    expect(expires_at).toBe('2026-01-01T00:01:00.000Z');
    expect(tokens.verify(token)?.id).toBe(device.id);
  });

  it('is valid until its expiry', () => {
    const { tokens, device, clock } = setUp();
    const { token } = tokens.issue(device);
    clock.value += 59_999;
    expect(tokens.verify(token)).toBeDefined();
    clock.value += 1;
    expect(tokens.verify(token)).toBeUndefined();
  });

  it('ends when the device is reprovisioned, archived or deleted', () => {
    const { tokens, device, platform, credentials } = setUp();
    const { token } = tokens.issue(device);
    platform.reprovision(platform.provisioningToken(device.id), credentials);
    expect(tokens.verify(token)).toBeUndefined();
    const renewed = tokens.issue(device).token;
    expect(tokens.verify(renewed)).toBeDefined();
    device.status = 'archived';
    expect(tokens.verify(renewed)).toBeUndefined();
    platform.deleteDevice(device.id);
    expect(tokens.verify(renewed)).toBeUndefined();
  });

  it('is refused from another platform, and after any change', () => {
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
  });
});
