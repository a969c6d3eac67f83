/** Key pairs and JWTs as a device makes them. For tests only. */
import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';

export interface RobotKey {
  privateKey: KeyObject;
  publicPem: string;
  fingerprint: string;
}

const made = new Map<string, RobotKey>();

/** The same key for the same name: making one takes long. */
export function robotKey(name = 'robot', bits = 2048): RobotKey {
  const id = `${name}/${bits}`;
  const known = made.get(id);
  if (known) return known;
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  const fingerprint = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
  const key = { privateKey, publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(), fingerprint };
  made.set(id, key);
  return key;
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A JWT by the published contract, with changes to its header and claims. */
export function deviceJwt(
  key: RobotKey,
  now: number,
  change: { header?: object; claims?: object; signWith?: (input: Buffer) => Buffer } = {},
): string {
  const iat = Math.floor(now / 1000);
  const header = encode({ alg: 'RS512', typ: 'JWT', kid: key.fingerprint, ...change.header });
  const claims = encode({ jti: randomUUID(), iat, exp: iat + 120, ...change.claims });
  const input = Buffer.from(`${header}.${claims}`);
  const signature = change.signWith?.(input) ?? sign('sha512', input, key.privateKey);
  return `${input}.${signature.toString('base64url')}`;
}
