/** Verifies the JWT that a device signs with its own key to get a session token: RS512, found by `kid`, used once. */
import { createPublicKey } from 'node:crypto';
import { errors, type JWSHeaderParameters, type JWTPayload, jwtVerify } from 'jose';
import type { Clock } from '../../common/clock.ts';
import { type AgentDeviceRecord, PlatformError } from '../ports.ts';
import { replayGuard } from './replay.ts';

/** `exp` is `iat` + 2 minutes. */
const LIFETIME_S = 120;
/** How far a device's clock may be off. */
const SKEW_S = 30;
const MAX_JTI_LENGTH = 128;
/** A signature over a key that came with it proves nothing. */
const KEY_HEADERS = ['jwk', 'jku', 'x5c', 'x5u', 'x5t', 'x5t#S256'] as const;

const unauthorized = (message: string) => new PlatformError(401, 'unauthorized', message);

/** Resolves with the device whose key signed `jwt`; rejects with PlatformError 401, or 429 when too many were used. */
export type DeviceJwtVerifier = (jwt: string) => Promise<AgentDeviceRecord>;

export function deviceJwtVerifier(options: {
  deviceByFingerprint(fingerprint: string): AgentDeviceRecord | undefined;
  clock: Clock;
}): DeviceJwtVerifier {
  const { clock, deviceByFingerprint } = options;
  const used = replayGuard({ clock, lifetimeMs: (LIFETIME_S + 2 * SKEW_S) * 1000 });

  return async (jwt) => {
    let device: AgentDeviceRecord | undefined;
    const keyFor = (header: JWSHeaderParameters) => {
      const embedded = KEY_HEADERS.find((name) => name in header);
      if (embedded !== undefined) throw unauthorized(`the JWT header must not carry ${embedded}`);
      if (typeof header.kid !== 'string' || !/^[0-9a-f]{64}$/.test(header.kid)) {
        throw unauthorized('the JWT header lacks kid, the lowercase hex SHA-256 of the public key');
      }
      device = deviceByFingerprint(header.kid);
      if (!device?.public_key_pem) throw unauthorized('no device has the key that kid names');
      return createPublicKey(device.public_key_pem);
    };
    let claims: JWTPayload;
    try {
      const verified = await jwtVerify(jwt, keyFor, {
        algorithms: ['RS512'],
        requiredClaims: ['jti', 'iat', 'exp'],
        maxTokenAge: LIFETIME_S,
        clockTolerance: SKEW_S,
        currentDate: new Date(clock.now()),
      });
      claims = verified.payload;
    } catch (error) {
      if (error instanceof PlatformError) throw error;
      throw unauthorized(error instanceof errors.JOSEError ? error.message : 'the JWT cannot be verified');
    }
    const { jti, iat = 0, exp = 0 } = claims;
    if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI_LENGTH) {
      throw unauthorized(`jti must be a string of 1 to ${MAX_JTI_LENGTH} characters`);
    }
    if (exp - iat > LIFETIME_S || exp <= iat) throw unauthorized('exp must be iat + 120 seconds');
    if (!device) throw unauthorized('the JWT cannot be verified');
    const admission = used.admit(`${device.id} ${jti}`);
    if (admission === 'replayed') throw unauthorized('this JWT was used before; each request needs a new jti');
    if (admission === 'full')
      throw new PlatformError(429, 'too_many_requests', 'too many token requests; try again later');
    return device;
  };
}
