/** The token a device carries on every request and as its MQTT password: a JWT bound to the device's session. */
import { createHmac, randomBytes } from 'node:crypto';
import { decodeJwt, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../../common/clock.ts';
import type { AgentDeviceRecord } from '../ports.ts';

const AUDIENCE = 'device';
export const DEFAULT_TOKEN_LIFETIME_MS = 60 * 60 * 1000;
const MAX_REMEMBERED = 50_000;
const MAX_TOKEN_LENGTH = 2048;

export interface SessionTokens {
  issue(device: AgentDeviceRecord): Promise<{ token: string; expires_at: string }>;
  /** The device of a token that is genuine, not expired, and of the device's present session. */
  verify(token: string): Promise<AgentDeviceRecord | undefined>;
}

/**
 * The signing key is derived from the session, so that a reprovisioned device's old tokens end without a list of them.
 * The master key lives as long as the process: after a restart every device mints a new token, as after an expiry.
 */
export function sessionTokens(options: {
  deviceById(id: string): AgentDeviceRecord | undefined;
  issuer: string;
  clock: Clock;
  lifetimeMs?: number;
}): SessionTokens {
  const { clock, issuer, lifetimeMs = DEFAULT_TOKEN_LIFETIME_MS, deviceById } = options;
  const master = randomBytes(32);
  const keyOf = (sessionId: string) => createHmac('sha256', master).update(sessionId).digest();
  // A signature costs a thread-pool round trip; a robot sends the same token many times.
  const verified = new Map<string, { deviceId: string; sessionId: string; expiresAt: number }>();

  const current = (deviceId: string, sessionId: string) => {
    const device = deviceById(deviceId);
    return device?.session_id === sessionId ? device : undefined;
  };

  return {
    issue: async (device) => {
      const issuedAt = Math.floor(clock.now() / 1000);
      const expiresAt = issuedAt + Math.ceil(lifetimeMs / 1000);
      const token = await new SignJWT()
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setIssuer(issuer)
        .setAudience(AUDIENCE)
        .setSubject(device.id)
        .setIssuedAt(issuedAt)
        .setExpirationTime(expiresAt)
        .sign(keyOf(device.session_id));
      return { token, expires_at: new Date(expiresAt * 1000).toISOString() };
    },
    verify: async (token) => {
      if (token.length > MAX_TOKEN_LENGTH) return undefined;
      const known = verified.get(token);
      if (known !== undefined) {
        if (clock.now() < known.expiresAt) return current(known.deviceId, known.sessionId);
        verified.delete(token);
        return undefined;
      }
      try {
        const { sub = '' } = decodeJwt(token);
        const device = deviceById(sub);
        if (!device) return undefined;
        const { payload } = await jwtVerify(token, keyOf(device.session_id), {
          algorithms: ['HS256'],
          issuer,
          audience: AUDIENCE,
          requiredClaims: ['sub', 'iat', 'exp'],
          currentDate: new Date(clock.now()),
        });
        if (verified.size >= MAX_REMEMBERED) verified.delete(verified.keys().next().value ?? '');
        verified.set(token, {
          deviceId: device.id,
          sessionId: device.session_id,
          expiresAt: (payload.exp ?? 0) * 1000,
        });
        return current(device.id, device.session_id);
      } catch {
        return undefined;
      }
    },
  };
}
