/** Verifies the JWT that a device signs with its own key to get a session token: RS512, found by `kid`, used once. */
import { createPublicKey } from 'node:crypto';
import { type Clock, steadyClock } from '../../common/clock.ts';
import { type JsonObject, parseJwt, verifiedRs512 } from '../../common/jwt.ts';
import { type AgentDeviceRecord, PlatformError } from '../ports.ts';
import { replayGuard } from './replay.ts';

/** `exp` is `iat` + 2 minutes. */
const LIFETIME_S = 120;
/** How far a device's clock may be off. */
const SKEW_S = 30;
const MAX_JWT_LENGTH = 8192;
const MAX_JTI_LENGTH = 128;
/** A signature over a key that came with it proves nothing. */
const KEY_HEADERS = ['jwk', 'jku', 'x5c', 'x5u', 'x5t', 'x5t#S256'] as const;

const unauthorized = (message: string) => new PlatformError(401, 'unauthorized', message);

/** The device whose key signed `jwt`. Throws PlatformError 401, or 429 when too many were used. */
export type DeviceJwtVerifier = (jwt: string) => AgentDeviceRecord;

/** Returns a verifier that yields the device, or throws PlatformError 401. */
export function deviceJwtVerifier(options: {
  deviceByFingerprint(fingerprint: string): AgentDeviceRecord | undefined;
  clock: Clock;
  /** For how long a JWT is remembered. Default: a clock that nobody can turn. */
  steady?: Clock;
}): DeviceJwtVerifier {
  const { clock, deviceByFingerprint } = options;
  const used = replayGuard({ clock: options.steady ?? steadyClock, lifetimeMs: (LIFETIME_S + 2 * SKEW_S) * 1000 });

  return (text) => {
    const jwt = text.length > MAX_JWT_LENGTH ? undefined : parseJwt(text);
    if (!jwt) throw unauthorized('the bearer token is no JWT');
    const device = deviceByFingerprint(fingerprintOf(jwt.header));
    if (!device?.public_key_pem || device.status === 'archived')
      throw unauthorized('no device has the key that kid names');
    if (!verifiedRs512(jwt, createPublicKey(device.public_key_pem))) {
      throw unauthorized('the signature of the JWT is not RS512 by the key that kid names');
    }
    const jti = identifierOf(jwt.claims, clock.now() / 1000);
    const admission = used.admit(`${device.id} ${jti}`);
    if (admission === 'replayed') throw unauthorized('this JWT was used before; each request needs a new jti');
    if (admission === 'full') throw new PlatformError(429, 'too_many_requests', 'too many token requests; try later');
    return device;
  };
}

function fingerprintOf(header: JsonObject): string {
  const embedded = KEY_HEADERS.find((name) => name in header);
  if (embedded !== undefined) throw unauthorized(`the JWT header must not carry ${embedded}`);
  const { kid } = header;
  if (typeof kid === 'string' && /^[0-9a-f]{64}$/.test(kid)) return kid;
  throw unauthorized('the JWT header lacks kid, the lowercase hex SHA-256 of the public key');
}

/** Checks the claims as of `now` (seconds), and returns `jti`. */
function identifierOf({ jti, iat, exp }: JsonObject, now: number): string {
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI_LENGTH) {
    throw unauthorized(`jti must be a string of 1 to ${MAX_JTI_LENGTH} characters`);
  }
  if (typeof iat !== 'number' || typeof exp !== 'number' || !(exp > iat && exp - iat <= LIFETIME_S)) {
    throw unauthorized(`iat and exp must be numeric dates, exp being iat + ${LIFETIME_S} seconds`);
  }
  if (iat > now + SKEW_S) throw unauthorized('iat is in the future');
  if (exp < now - SKEW_S) throw unauthorized('the JWT has expired');
  return jti;
}
