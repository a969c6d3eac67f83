/** JSON Web Tokens of the agent protocol; common libraries refuse the short RSA keys of simulated robots. */
import { createHmac, type KeyObject, sign, timingSafeEqual, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { parseObject } from '../../harness/common/lenient.ts';

type JsonObject = Record<string, unknown>;

/** Token whose claims are unverified until `verifiedHs256` or `isValidRs512` accepts the signature. */
export interface Jwt {
  header: JsonObject;
  claims: JsonObject;
  signed: Buffer;
  signature: Buffer;
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const signingInput = (header: JsonObject, claims: JsonObject) =>
  Buffer.from(`${encode({ typ: 'JWT', ...header })}.${encode(claims)}`);

export function parseJwt(text: string): Jwt | undefined {
  const [, head = '', payload = '', signature = ''] = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(text) ?? [];
  const header = parseObject(Buffer.from(head, 'base64url'));
  const claims = parseObject(Buffer.from(payload, 'base64url'));
  if (!header || !claims || 'crit' in header) return undefined;
  return { header, claims, signed: Buffer.from(`${head}.${payload}`), signature: Buffer.from(signature, 'base64url') };
}

export function signHs256(claims: JsonObject, secret: Buffer): string {
  const input = signingInput({ alg: 'HS256' }, claims);
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

export function verifiedHs256({ header, signed, signature }: Jwt, secret: Buffer): boolean {
  if (header['alg'] !== 'HS256') return false;
  const expected = createHmac('sha256', secret).update(signed).digest();
  return expected.length === signature.length && timingSafeEqual(expected, signature);
}

const signLater = promisify(sign) as (algorithm: string, data: Buffer, key: KeyObject) => Promise<Buffer>;

export async function signRs512(claims: JsonObject, key: KeyObject, kid: string): Promise<string> {
  const input = signingInput({ alg: 'RS512', kid }, claims);
  return `${input}.${(await signLater('sha512', input, key)).toString('base64url')}`;
}

export const isValidRs512 = ({ header, signed, signature }: Jwt, key: KeyObject): boolean =>
  header['alg'] === 'RS512' && key.asymmetricKeyType === 'rsa' && verify('sha512', signed, key, signature);
