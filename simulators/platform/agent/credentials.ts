import { createPublicKey, hash, type KeyObject, randomBytes } from 'node:crypto';
import { type Clock, steadyClock } from '../../common/clock.ts';
import { isValidRs512, parseJwt, signHs256, verifiedHs256 } from '../../common/jwt.ts';
import { type AgentDeviceRecord, PlatformError } from '../ports.ts';

/** Guard that refuses a JWT id (`jti`) again for at least `lifetimeMs`, and takes `capacity` new ids in that time. */
export function replayGuard(options: { clock: Clock; lifetimeMs: number; capacity?: number }) {
  const { clock, lifetimeMs, capacity = 100_000 } = options;
  let current = new Set<string>();
  let previous = new Set<string>();
  let turnedAt = clock.now();
  return (id: string): 'new' | 'replayed' | 'full' => {
    const age = clock.now() - turnedAt;
    if (age >= lifetimeMs) {
      previous = age < 2 * lifetimeMs ? current : new Set();
      current = new Set();
      turnedAt = clock.now();
    }
    if (current.has(id) || previous.has(id)) return 'replayed';
    if (current.size >= capacity) return 'full';
    current.add(id);
    return 'new';
  };
}

const LIFETIME_S = 120;
const SKEW_S = 30;
const MAX_JTI_LENGTH = 128;

const unauthorized = (message: string) => new PlatformError(401, 'unauthorized', message);

export function deviceJwtVerifier(options: {
  deviceByFingerprint(fingerprint: string): AgentDeviceRecord | undefined;
  clock: Clock;
}) {
  const { clock, deviceByFingerprint } = options;
  const admit = replayGuard({ clock: steadyClock, lifetimeMs: (LIFETIME_S + 2 * SKEW_S) * 1000 });

  return (text: string): AgentDeviceRecord => {
    const jwt = text.length > 8192 ? undefined : parseJwt(text);
    if (!jwt) throw unauthorized('the bearer token is no JWT');
    // Refuses a key in the JWT header, because a signature by a key that the sender chose proves nothing.
    const embedded = ['jwk', 'jku', 'x5c', 'x5u', 'x5t', 'x5t#S256'].find((name) => name in jwt.header);
    if (embedded !== undefined) throw unauthorized(`the JWT header must not carry ${embedded}`);
    const { kid } = jwt.header;
    if (typeof kid !== 'string' || !/^[0-9a-f]{64}$/.test(kid))
      throw unauthorized('the JWT header lacks kid, the lowercase hex SHA-256 of the public key');
    const device = deviceByFingerprint(kid);
    if (!device?.public_key_pem || device.status === 'archived')
      throw unauthorized('no device has the key that kid names');
    if (!isValidRs512(jwt, createPublicKey(device.public_key_pem)))
      throw unauthorized('the signature of the JWT is not RS512 by the key that kid names');
    const { jti, iat, exp } = jwt.claims;
    if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI_LENGTH)
      throw unauthorized(`jti must be a string of 1 to ${MAX_JTI_LENGTH} characters`);
    if (typeof iat !== 'number' || typeof exp !== 'number' || !(exp > iat && exp - iat <= LIFETIME_S))
      throw unauthorized(`iat and exp must be numeric dates, exp being iat + ${LIFETIME_S} seconds`);
    const now = clock.now() / 1000;
    if (iat > now + SKEW_S) throw unauthorized('iat is in the future');
    if (exp < now - SKEW_S) throw unauthorized('the JWT has expired');
    const admission = admit(`${device.id} ${jti}`);
    if (admission === 'replayed') throw unauthorized('this JWT was used before; each request needs a new jti');
    if (admission === 'full') throw new PlatformError(429, 'too_many_requests', 'too many token requests; try later');
    return device;
  };
}

/** A larger key makes each verification slow. */
const MAX_KEY_BITS = 8192;
const MAX_EXPONENT = 0xffff_ffffn;
const MAX_PEM_LENGTH = 4096;

export function parseDeviceKey(pem: string, minBits: number) {
  const refuse = (message: string) => new PlatformError(400, 'invalid_public_key', message, { min_bits: minBits });
  if (pem.length > MAX_PEM_LENGTH) throw refuse(`public_key_pem is longer than ${MAX_PEM_LENGTH} characters`);
  if (!/^\s*-----BEGIN (RSA )?PUBLIC KEY-----/.test(pem))
    throw refuse('public_key_pem must be the PEM of a public key');
  let key: KeyObject;
  try {
    key = createPublicKey({ key: pem, format: 'pem' });
  } catch {
    throw refuse('public_key_pem cannot be read as a public key');
  }
  if (key.asymmetricKeyType !== 'rsa') throw refuse('public_key_pem must hold an RSA key');
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < minBits) throw refuse(`public_key_pem has ${bits} bits; at least ${minBits} are required`);
  if (bits > MAX_KEY_BITS) throw refuse(`public_key_pem has ${bits} bits; at most ${MAX_KEY_BITS} are accepted`);
  const exponent = key.asymmetricKeyDetails?.publicExponent ?? 0n;
  if (exponent < 3n || exponent > MAX_EXPONENT || exponent % 2n === 0n)
    throw refuse('public_key_pem has an exponent that is not accepted; use 65537');
  return {
    public_key_pem: key.export({ type: 'spki', format: 'pem' }).toString(),
    fingerprint: hash('sha256', key.export({ type: 'spki', format: 'der' }), 'hex'),
  };
}

/** Issues and verifies device tokens, which end after `lifetimeMs`, with the session, or when the platform restarts. */
export function sessionTokens(options: {
  deviceById(id: string): AgentDeviceRecord | undefined;
  issuer: string;
  clock: Clock;
  lifetimeMs?: number | undefined;
}) {
  const { clock, issuer: iss, lifetimeMs = 3_600_000, deviceById } = options;
  const master = randomBytes(32);
  const secretOf = ({ session_id }: AgentDeviceRecord) => Buffer.concat([master, Buffer.from(session_id ?? '')]);

  return {
    issue: (device: AgentDeviceRecord): { token: string; expires_at: string } => {
      const iat = Math.floor(clock.now() / 1000);
      const exp = iat + Math.ceil(lifetimeMs / 1000);
      const token = signHs256({ iss, aud: 'device', sub: device.id, iat, exp }, secretOf(device));
      return { token, expires_at: new Date(exp * 1000).toISOString() };
    },
    verify: (token: string): AgentDeviceRecord | undefined => {
      const jwt = token.length > 2048 ? undefined : parseJwt(token);
      const subject = jwt?.claims['sub'];
      if (!jwt || typeof subject !== 'string') return undefined;
      const device = deviceById(subject);
      // Skips issuer and audience, because only this platform has the key of the signature.
      if (!device || device.status === 'archived' || !verifiedHs256(jwt, secretOf(device))) return undefined;
      return clock.now() < Number(jwt.claims['exp']) * 1000 ? device : undefined;
    },
  };
}
