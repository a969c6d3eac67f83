/**
 * JSON Web Tokens as the agent protocol uses them: HS256 and RS512, compact form. On node:crypto, because the usual
 * libraries refuse RSA keys below 2048 bits, and a fleet of ten thousand simulated robots cannot wait for that many
 * large keys.
 */
import { createHmac, type KeyObject, sign, timingSafeEqual, verify } from 'node:crypto';
import { promisify } from 'node:util';

export type JsonObject = Record<string, unknown>;

/** A well-formed token. Nothing in it can be trusted before one of the `verified` functions has confirmed it. */
export interface Jwt {
  header: JsonObject;
  claims: JsonObject;
  signed: Buffer;
  signature: Buffer;
}

const COMPACT = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const signingInput = (header: JsonObject, claims: JsonObject) =>
  Buffer.from(`${encode({ typ: 'JWT', ...header })}.${encode(claims)}`);

/** The token in `text`; undefined when it is no compact JWS of two JSON objects, or needs critical extensions. */
export function parseJwt(text: string): Jwt | undefined {
  const [, head = '', payload = '', signature = ''] = COMPACT.exec(text) ?? [];
  const header = parseObject(head);
  const claims = parseObject(payload);
  if (!header || !claims || 'crit' in header) return undefined;
  return { header, claims, signed: Buffer.from(`${head}.${payload}`), signature: Buffer.from(signature, 'base64url') };
}

function parseObject(base64url: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(base64url, 'base64url').toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** A compact token with these claims, signed with a shared secret. */
export function signHs256(claims: JsonObject, secret: Buffer): string {
  const input = signingInput({ alg: 'HS256' }, claims);
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

/** Whether the token was signed with HS256 and this secret. */
export function verifiedHs256({ header, signed, signature }: Jwt, secret: Buffer): boolean {
  if (header['alg'] !== 'HS256') return false;
  const expected = createHmac('sha256', secret).update(signed).digest();
  return expected.length === signature.length && timingSafeEqual(expected, signature);
}

const signLater = promisify(sign) as (algorithm: string, data: Buffer, key: KeyObject) => Promise<Buffer>;

/** A compact token with these claims, signed with an RSA key that `kid` names. */
export async function signRs512(claims: JsonObject, key: KeyObject, kid: string): Promise<string> {
  const input = signingInput({ alg: 'RS512', kid }, claims);
  return `${input}.${(await signLater('sha512', input, key)).toString('base64url')}`;
}

/** Whether the token was signed with RS512 and the private part of this key. */
export function verifiedRs512({ header, signed, signature }: Jwt, key: KeyObject): boolean {
  return header['alg'] === 'RS512' && key.asymmetricKeyType === 'rsa' && verify('sha512', signed, key, signature);
}
