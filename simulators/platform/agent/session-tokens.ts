/** The token a device carries on every request and as its MQTT password: a JWT bound to the device's session. */
import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../../common/clock.ts';
import { parseJwt, signHs256, verifiedHs256 } from '../../common/jwt.ts';
import type { AgentDeviceRecord } from '../ports.ts';

const AUDIENCE = 'device';
const DEFAULT_TOKEN_LIFETIME_MS = 60 * 60 * 1000;
const MAX_TOKEN_LENGTH = 2048;

export interface SessionTokens {
  issue(device: AgentDeviceRecord): { token: string; expires_at: string };
  /** The device of a token that is genuine, not expired, and of the device's present session. */
  verify(token: string): AgentDeviceRecord | undefined;
}

/**
 * The signing key is derived from the session, so that a reprovisioned device's old tokens end without a list of them.
 * The master key lives as long as the process: after a restart every device mints a new token, as after an expiry.
 */
export function sessionTokens(options: {
  deviceById(id: string): AgentDeviceRecord | undefined;
  issuer: string;
  clock: Clock;
  lifetimeMs?: number | undefined;
}): SessionTokens {
  const { clock, issuer: iss, lifetimeMs = DEFAULT_TOKEN_LIFETIME_MS, deviceById } = options;
  const master = randomBytes(32);
  const secretOf = (device: AgentDeviceRecord) => createHmac('sha256', master).update(device.session_id).digest();

  return {
    issue: (device) => {
      const iat = Math.floor(clock.now() / 1000);
      const exp = iat + Math.ceil(lifetimeMs / 1000);
      const token = signHs256({ iss, aud: AUDIENCE, sub: device.id, iat, exp }, secretOf(device));
      return { token, expires_at: new Date(exp * 1000).toISOString() };
    },
    verify: (token) => {
      const jwt = token.length > MAX_TOKEN_LENGTH ? undefined : parseJwt(token);
      const subject = jwt?.claims['sub'];
      if (!jwt || typeof subject !== 'string') return undefined;
      const device = deviceById(subject);
      // The signature is this platform's own, so issuer and audience need no check.
      if (!device || device.status === 'archived' || !verifiedHs256(jwt, secretOf(device))) return undefined;
      return clock.now() < Number(jwt.claims['exp']) * 1000 ? device : undefined;
    },
  };
}
