/** Public keys of devices: what is accepted, and the fingerprint by which a device is found again. */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { PlatformError } from '../ports.ts';

export const DEFAULT_MIN_KEY_BITS = 2048;
/** Larger keys and huge exponents cost a server far more to verify than they cost a client to make. */
const MAX_KEY_BITS = 8192;
const MAX_EXPONENT = 0xffff_ffffn;
/** The PEM text of an 8192-bit key is shorter. */
const MAX_PEM_LENGTH = 4096;

export interface DeviceKey {
  /** The key alone, normalised: SubjectPublicKeyInfo as PEM. */
  pem: string;
  /** Lowercase hex SHA-256 of the DER SubjectPublicKeyInfo. */
  fingerprint: string;
}

/** Reads `public_key_pem` of a provisioning request. Throws PlatformError 400 when it is not an acceptable RSA public key. */
export function parseDeviceKey(pem: string, minBits: number): DeviceKey {
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
  if (exponent < 3n || exponent > MAX_EXPONENT || exponent % 2n === 0n) {
    throw refuse('public_key_pem has an exponent that is not accepted; use 65537');
  }
  const der = key.export({ type: 'spki', format: 'der' });
  return {
    pem: key.export({ type: 'spki', format: 'pem' }).toString(),
    fingerprint: createHash('sha256').update(der).digest('hex'),
  };
}
